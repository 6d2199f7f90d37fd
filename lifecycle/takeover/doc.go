// Package takeover runs the edits of a working tree on a workstation, in place of the
// workloads that they belong to and with the traffic of these, and returns everything
// as it was.
//
// # The plan
//
// [Read] reads what a plan depends on, and [Select] makes the [Plan] of it: a pure
// function, which is all that a dry run needs.
//
//	facts, err := takeover.Read(ctx, takeover.Source{Lifecycle: l, REST: config, Repository: repo, Tree: tree})
//	plan := takeover.Select(facts)
//	err = plan.Err()
//
// The images whose fingerprints differ between the working tree and the target's live
// receipt are looked for in what the receipt's commit renders to. The Deployments that
// use them are taken over, one container of each. Names narrow that, or add to it.
//
// A plan has all that stands in its way, and not only the first of it:
//
//   - a target of which the applied receipt is not the live one, or cannot be read
//   - edits that reach a target only by being delivered, and those that no pattern
//     knows: a workstation cannot show them
//   - an image that does not say how it runs (run), has no fingerprint, or that no
//     workload uses
//   - workloads of other kinds, what belongs to an operator, an initContainer whose
//     image changed, two containers of one pod
//   - a Deployment that is not on the target, is paused, or that today's renderer would
//     declare otherwise than it was delivered
//   - a Deployment that nothing would put back: neither does its Application of Argo CD
//     heal itself, after a last operation that succeeded, nor does a controller run
//
// It warns of what is done and shows less than it may seem: a changed base or recipe,
// the strategy Recreate, something that scales the Deployment.
//
// # The session
//
// A [Session] does what the plan says, and undoes it. Package workstation puts the
// [Config] of one together from a target and a checkout, and package guardian runs one
// in a process of its own. [Session.Run] goes through these steps; each is written to
// the journal (package journal) before it is begun, and an [Event] reports it after its
// durable effect:
//
//  1. Plan. What a session has left whose lease has ended is put back first.
//  2. Publish the agents' images to the target's registry.
//  3. Borrow the target: its lease, for every Application that owns a workload, and the
//     gate that keeps away what heals them (package lease).
//  4. Read the target and plan again, under the lease. Write the workloads as they are
//     to the journal, and to the session object on the target, from which anybody can
//     put them back.
//  5. Have the API server try all diversions (package divert).
//  6. Start the processes, and wait until they are ready: only then does anything change
//     for who calls the workloads.
//  7. Divert the workloads, and serve their agents from their first moment on.
//  8. Wait until every pod is an agent's and is served.
//
// Until somebody asks for the hand-back it renews the lease and gives signs of life in
// the session object. The hand-back is the reverse: put the workloads back, serving the
// agents until the last one is gone, end the processes, delete the session object, open
// the gate, wait until the target is live at the exact commit of its receipt
// (lifecycle.HandBack), and release the lease. Of several workloads each can be handed
// back by itself.
//
// If a step fails, those before it are undone. An outage of the API server is no such
// failure unless it lasts longer than Config.Timeout: neither of a takeover that has
// begun nor of a hand-back, which [EventWaiting] says meanwhile. What stands is not given
// up for an outage, however long.
//
// # Whatever ends
//
// The process may be killed at any moment. The next Run goes on, and [Session.Finish]
// hands back; both begin with the journal, and with what is on the target then. If
// neither is called, the lease ends, and the workloads are put back by Argo CD, whose
// windows end with it, or by the target's controller (package restore).
//
// A session that loses its lease, since its machine slept or could not reach the
// cluster, serves nothing from then on. It acquires the lease again as soon as that is
// free, diverts anew what was put back meanwhile, and goes on. If somebody else has the
// target, or has broken the lease, it ends (lease.ErrHeld, lease.ErrLost) and writes
// nothing more; Finish can be called when the target is free again, and need not.
//
// After a sleep the API server is asked whose the target is before another connection is
// served, and whenever a stream to an agent is made anew: a machine does not know by
// itself for how long it slept.
//
// What somebody else changes in a workload meanwhile stays, and the hand-back names it.
// A session goes on with such a workload as long as its container has the agent's image.
// Once it has another one, an [EventWarning] says so, and the workload is [StateReplaced]
// until it has the agent again.
//
// When the checkout is deleted, or what the journal is in, everything is handed back at
// once by what the session has in memory and on the target. An outage is waited for half
// a minute then, and no longer, since nobody could end the session there: the lease's end
// has the workloads put back. A journal that cannot be
// written, as on a full disk, ends no session: the session object has as much, and who
// goes on with the session reads both.
//
// # Rights
//
// Those of a lease, of reading the target's receipts and, where Argo CD delivers, of its
// gate (package lease and lease/argocd); for the end of the hand-back get on the objects
// that are delivered, or list on their kinds (lifecycle.Status); get on the namespace
// kube-system, whose UID is the cluster's, and on the target's; and
//
//	rules: # in the target's namespace
//	- {apiGroups: [""], resources: [secrets], verbs: [create]}
//	- {apiGroups: [""], resources: [secrets], verbs: [get, patch, delete], resourceNames: [pharos-TARGET.takeover]}
//	rules: # in those of the workloads
//	- {apiGroups: [apps], resources: [deployments], verbs: [get, patch]}
//	- {apiGroups: [apps], resources: [replicasets], verbs: [get]}
//	- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
//	- {apiGroups: [""], resources: [pods/portforward], verbs: [get, create]}
//	- {apiGroups: [""], resources: [configmaps, secrets], verbs: [get]} # that run.env and run.files name
//	# each of these it can do without, and then warns of less:
//	- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}
//	- {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [list]}
//	- {apiGroups: [""], resources: [pods], verbs: [create]} # tried, never done
//	rules: # in those of the Services of run.forwards
//	- {apiGroups: [""], resources: [services], verbs: [get]}
//	- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
//	- {apiGroups: [""], resources: [pods/portforward], verbs: [get, create]}
//
// # What this cannot prevent
//
//   - A connection that was open when the lease was lost goes on until its stream is
//     closed: at once where this process learns of it, and by the agent after 20 seconds
//     without a sign of life where it does not.
//   - Requests fail at the two switches where the original does not end its own
//     gracefully, or its Deployment lets pods go before others are there.
package takeover
