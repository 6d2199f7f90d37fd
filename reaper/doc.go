// Package reaper says what is to end, and when: the intent that an object carries, the
// grammar of its times, and the decision whether it is to be deleted now, which is a
// pure function. The parts that run are reaper/sweep, which reaches the ends,
// reaper/inventory, which tells what is there, reaper/policy, which holds people to
// intents, and reaper/ephemeral for tests.
//
// # The intent
//
// An object says how long it is meant to be there by its own metadata:
//
//	metadata:
//	  labels:
//	    pharos.dev/intent: transient     # or retained: it stays until a person deletes it
//	  annotations:
//	    pharos.dev/ttl: 36h              # how long after its last activity
//	    pharos.dev/expires-at: 2026-03-04T05:06:07Z   # when at the latest
//	    pharos.dev/last-active: 2026-03-01T09:00:00Z  # its last activity
//	    pharos.dev/grace: 10m            # how long it is left alone after its end
//	    pharos.dev/owner: ann@example.org
//
// The intent is a label, so that an API server can choose by it; the times cannot be
// labels. A duration is what [ParseDuration] reads, a time what [ParseTime] reads.
//
// # When it ends
//
// At min(activity + ttl, expires-at) + grace, by the API server's clock. The activity
// is the later one of last-active and the creation. Reading an object is not activity:
// only [Client.Touch] is, or who writes last-active.
//
// # What never ends
//
// An object ends only if all of this holds; [Rules.Decide] names the first that does
// not:
//
//   - It says that it is transient, and until when. Values that cannot be read delete
//     nothing: they are findings.
//   - It is not being deleted already.
//   - It has no owner that it ends with.
//   - It is not the system's: of a namespace kube-…, the namespace default itself and
//     what a namespace has of its own accord, or in a namespace that the rules protect.
//   - No other tool's mark says that it stays.
//   - Nothing declares it: Pharos (the label pharos.dev/target), Argo CD, Flux, Helm,
//     kapp, an ApplySet or cli-utils.
//   - Its last activity is not in the future, by more than a minute.
//   - It is no CustomResourceDefinition, with which all objects of its kind would go.
//   - If it is a namespace: nothing in it is to outlive it, see [Outlives].
//
// # Change an end
//
// A [Client] touches, extends and retains objects. Each is named by its UID, which is a
// precondition, and what was decided by what was read also by its resourceVersion.
//
// # Create within limits
//
// [Client.Create] admits an object within a [Tier] and creates it. What was admitted
// stands in a ledger, a ConfigMap that is written by compare-and-swap only, in this
// order: the admission, the object, and that the object is there. So no limit is ever
// exceeded by what Create made, and a process that is killed on the way leaves at most
// an admission, which ends by itself. What is gone makes room when somebody looks for
// some. What is left:
//
//   - An object that the API server creates more than two minutes after its admission,
//     against all timeouts, may be one too many. It is counted from then on.
//   - Replicas that are added later request more than was admitted, and so does what
//     the cluster adds to a pod: the defaults of a LimitRange, the overhead of a
//     RuntimeClass, containers that are injected.
//   - A ledger that is deleted begins anew with what is there of the kind that is
//     created first. Who may write the ledger can say what they want.
//   - API servers whose clocks differ count an hour by as much wrongly.
package reaper
