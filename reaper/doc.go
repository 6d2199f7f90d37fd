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
//   - If it is a namespace: nothing in it is to outlive it, see [Outlives].
package reaper
