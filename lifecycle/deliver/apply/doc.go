// Package apply delivers objects to a Kubernetes cluster by server-side apply,
// looks at them, and waits until they are healthy. It is a lifecycle.Deliverer.
//
//	d, err := apply.New(apply.Config{RESTConfig: config})
//	resolved, err := d.Resolve(ctx, objects)
//	result, err := d.Deliver(ctx, lifecycle.DeliverRequest{
//		Objects: objects, Resolved: resolved, Target: "devbox", Guard: held.Check,
//	})
//	seen, err := d.Wait(ctx, lifecycle.ObserveRequest{Target: "devbox", Objects: resolved})
//
// # Delivery
//
// Each object is one PATCH request (application/apply-patch+yaml, strict about
// fields that its kind does not have) with the field manager of the
// configuration. Objects are applied in stages, and in parallel within one:
//
//  1. kinds and namespaces (CustomResourceDefinition, Namespace); those that were
//     created or changed are waited for, until the kind is established
//  2. what workloads refer to: configuration, accounts, roles, services, volumes,
//     and objects of kinds that are not listed here
//  3. what runs: the groups apps and batch, Pod, ReplicationController
//  4. what judges later writes: the groups admissionregistration.k8s.io and
//     apiregistration.k8s.io
//
// The stringData of a Secret is applied as data, which is what the server makes of
// it: so its values are owned, compared, and removed as any other field.
//
// Every object must carry the label pharos.dev/target with the target's name.
// The guard is called right before every write, also before one that is sent
// again; once it fails, no further write begins. A dry run writes nothing and
// never calls it.
//
// When the server refuses an object, because somebody else owns it or one of its
// fields or because it is not valid, nothing more is written: requests under way
// end, and the server is asked about the rest by a dry run, so that all
// conflicts and refusals are reported together. What was applied before stays.
// There is no attempt before the first write to see whether all will be
// accepted, which would double the requests; DeliverRequest.DryRun is that.
//
// Whether an object was configured or is unchanged follows from its resource
// version before and after; the versions before come from one list for each
// resource. A dry run compares whole objects, without their status. What it
// cannot ask, since the kind or namespace is part of the same delivery, it
// reports as created. Compare returns both objects.
//
// What the delivery before is known to have left (DeliverRequest.Applied and
// Seen) is not written again: an object whose manifest has the same hash, whose
// UID is the same, and whose fields of ours are the same and have the same
// values. An apply of the same bytes could only come to the same. So a delivery
// that changes one object is one write. All others cost one write each.
//
// # Whose an object is
//
// An object belongs to the target if it carries the target's label, if our field
// manager has applied it and no other target's label is on it, or if Pharos has
// prepared it (app.kubernetes.io/managed-by: pharos). Any other that is there
// already is a conflict as a whole, also where no field differs and server-side
// apply by itself would see none. DeliverRequest.Adopt takes such objects over,
// and Force takes over fields; neither implies the other.
//
// It costs no request to know: each apply is conditional. Of an object that was
// listed it names the UID. Of any other it names the resource version
// 9223372036854775807, which no object has: the server discards it when it
// creates an object, and refuses it with 409 when there is one. Only then is the
// object looked at.
//
// Fields that a manifest no longer has are given up: the server removes those
// that nobody else owns. An object that no manifest has any more is an orphan.
//
// # Jobs that run once
//
// A Job with the annotation pharos.dev/run-once: "true" gets a name by content:
// the first 40 characters of its own, "-once-", and the first 10 hexadecimal
// digits of the SHA-256 of its manifest. So a Job that changed, its image's
// digest included, is another one, and one that did not is never run again.
// Resolve does the renaming: receipts hold the name and the hash of what is
// applied.
//
// Observation.Completed tells which have completed. Those of
// DeliverRequest.Completed are not created again, and are healthy, no orphan and
// no drift when they are gone, for example by their own ttlSecondsAfterFinished.
// Where a completion was not recorded, because whoever waited was killed, the
// event of the Job's controller is asked for, which clusters keep for an hour.
// A Job that is removed sooner after its end than the next delivery comes, in a
// cluster that has forgotten its event, runs again.
//
// A failed one fails every delivery of the same content, until it is changed, or
// deleted by hand. The reason has the last lines of its pod's log, unless its
// container left a termination message.
//
// Nothing is ever deleted. Redirects are not followed.
//
// # What others apply
//
// Where another program applies, such as Argo CD, Find and Get return the objects
// as they are, and Try asks by a dry run what the server would make of that
// program's writes.
//
// # Looking
//
// One list for each resource finds everything by the label: in the one namespace
// that the resource's objects are in, or else in all of them; where listing in
// all is forbidden, namespace by namespace. What carries the label and was not
// asked for is an orphan.
//
// Receipt outcomes keep a hash of each object, receipt.Seen.Owned: SHA-256 over
// the RFC 8785 JSON of the fields that our manager applied and still owns, by the
// entry of metadata.managedFields whose operation is Apply, with their live
// values. It has the form of fieldsV1, where each leaf has the live value:
//
//	managed fields  {"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{".":{},"f:image":{}}}}}}}
//	hashed          {"f:spec":{"f:replicas":2,"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{"f:image":"r/api"}}}}}}
//
// A field that is owned and not there is "gone " and its element, with true. Where
// several items of a list are owned, "order" lists their elements as they stand. A
// leaf that is a map counts with all its values, unless others own fields in it:
// then it counts as {}. So whoever changes, removes or takes over what was applied
// changes the hash; defaults, status and fields of others do not.
//
// # Health
//
// kstatus (sigs.k8s.io/cli-utils/pkg/kstatus) decides, on what the controllers
// say of the newest generation. Its rules are refined where a delivery wants
// more than that something is under way:
//
//   - a Job is healthy when it is complete, or suspended by its manifest
//   - a Pod that failed is no success; one that is not scheduled or restarts over
//     and over has not failed for good, as with any other workload
//   - a Deployment whose controller still shows the failure of the rollout before
//     this one has not failed
//
// An object without a status, of a kind that kstatus does not know, is healthy
// when it is there: so is a custom resource that its controller has not seen yet.
//
// Wait lists once, watches only resources with something that is not healthy,
// from the list's version on, and lists once more at the end. Watches that break
// are resumed, and those that the server has forgotten begin with a list. It
// returns early when an object failed for good: an exceeded progress deadline,
// a failed Job, a refused CustomResourceDefinition. Reasons end with what the
// object's pods say (the scheduler's message, why an image is not pulled, a
// container's exit code and termination message), or else with its last event.
//
// # Requests that fail
//
// A request that is throttled (429), failed (5xx), lost a race (409 without
// field managers), was cut or took too long is sent again with growing, randomised
// pauses, not before the server's Retry-After, for at most Config.RetryFor. All
// requests may be repeated: apply is idempotent. A server that never answered
// before is reported at once.
//
// # Rights
//
// For each resource that is delivered:
//
//	verbs: [create, patch, list, watch]
//
// and, for reasons in the words of pods, which are left out without it:
//
//   - apiGroups: [""]
//     resources: [pods, events]
//     verbs: [list]
//   - apiGroups: [""]
//     resources: [pods/log] # of Jobs alone
//     verbs: [get]
//
// Discovery is open to every authenticated user. Delivering roles needs the
// rights that they grant, or the verb escalate; bindings, the verb bind.
package apply
