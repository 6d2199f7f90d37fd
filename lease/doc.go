// Package lease says who may write to a target, until when: one lease per
// target, which a delivery holds for seconds (mode deliver), a person who runs
// something else on the target for hours (borrow), and whoever maintains it
// until it is healthy again (maintain).
//
// # The record
//
// The lease is a Lease of coordination.k8s.io/v1, named "pharos-" and the
// target's name. Who looks with kubectl sees:
//
//	spec.holderIdentity         the holder: a random ID, new with every acquisition
//	spec.acquireTime            when it was acquired
//	spec.renewTime              when its end was last moved
//	spec.leaseDurationSeconds   the end, in seconds after renewTime; absent if it does not end by itself
//	spec.leaseTransitions       the fencing token
//	pharos.dev/lease-mode       annotations: deliver, borrow or maintain
//	pharos.dev/lease-user       user@host, for people
//	pharos.dev/lease-purpose    for people
//	pharos.dev/lease-covers     a JSON array of the names that it covers; absent for all
//	pharos.dev/lease-expires    the end, for people
//
// The fencing token grows by one with every acquisition, whoever acquires. So
// that it never goes back, the Lease is never deleted: releasing it clears the
// holder and all else. A Lease with a holder that something else wrote is held
// until it ends, and if it has no end, until its holder is cleared.
//
// # Time
//
// All times in the record are of the API server's clock, as it tells it in the
// Date of its answers: in whole seconds, cut off. No machine's clock is
// compared with another's, so they may be wrong by any amount.
//
//   - Who acquires or renews reads the lease first, takes the Date of that
//     answer as now, and writes an end of now plus the mode's duration.
//   - The holder stops by its own clock: at the moment it sent the request
//     whose answer told it the end, plus what was left at the answer's Date,
//     less the margin. It uses the monotonic reading, so setting the clock
//     changes nothing. Since the Date may be up to a second old, the margin is
//     at least a second; the rest of it is for clocks that do not run equally
//     fast.
//   - Everybody else takes the lease for held until the Date of an answer is
//     later than its end plus the grace. One answer is enough to judge a lease
//     of any length: nobody has to have watched it.
//   - An end that has passed is never moved. The holder reads the Date before
//     it renews, and again from the answer to the renewal; if the end had passed
//     by then, it takes the renewal back and has lost the lease. That is how a
//     machine finds out that slept, whose monotonic clock may have slept too.
//   - The margin, the grace and the second between them are what API servers
//     whose clocks differ, and writes on their way, have in total.
//
// # Writing under it
//
// Every write of the Lease has its resourceVersion as a precondition. After a
// conflict the lease is read again and the decision made anew. After an answer
// that was lost it is read again, too: a holder recognises its own write by its
// ID and token.
//
// A writer acquires the lease, decides what to write, and calls [Held.Check]
// right before each write, which asks the API server. It may go on where the
// answer is nil. While it works [Held.Keep] renews the lease; when it is done
// it calls [Held.Release] with a context that is not over.
//
// # What this cannot prevent
//
//   - A write that passed its Check, and then waited on its way (in the
//     process, in a proxy, in the network) until the holder's margin and the
//     grace had passed, and somebody else held the lease. Only a precondition
//     in the write itself prevents that: the object's resourceVersion, or the
//     token, where the object can carry it.
//   - The same for a write of the Lease whose answer was lost: a late
//     acquisition can still land when its process has given up. Nobody works
//     under it; it ends by itself.
//   - Writers that do not ask for the lease, and people who edit it. Who
//     deletes the Lease lets its token begin anew; the holder notices, because
//     the UID differs.
//   - An API server whose clock jumps, or several whose clocks differ by more
//     than the grace.
//   - A proxy that answers from a cache, or with a Date of its own.
//
// # API calls
//
// Inspect and Resume make one, Acquire two, Check at most one, Renew two,
// Release one. Acquire makes one more for each RetryPeriod that it waits.
//
// # Rights
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- apiGroups: [coordination.k8s.io]
//	  resources: [leases]
//	  verbs: [get, create, update]
package lease
