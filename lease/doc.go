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
//	pharos.dev/lease-broken     a JSON object: who broke the lease last, when and why, and whose it was
//
// The fencing token grows by one with every acquisition, whoever acquires. So
// that it never goes back, Pharos never deletes the Lease: releasing it clears the
// holder and all else, but for lease-broken. Where somebody else deleted it, it is
// created anew without a holder, and the first token of a Lease is the number of
// seconds from 2026 on to its acquisition: more than any token of the one before,
// unless that was acquired more than once a second. A Lease with a holder that something
// else wrote is held until it ends, and if it has no end, until its holder is
// cleared.
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
//     it renews, and again from the answer to the renewal. If the end had passed
//     by then, it has lost the lease, and gives it the end back that it had:
//     others are still to wait for the grace. That is how a machine finds out
//     that slept, whose monotonic clock may have slept too. If it knew an end
//     that has passed, a later one in the record does not help it: that came
//     from a write of its own that was long on its way.
//   - What a gate closes ends a grace later than others may acquire the lease, at its
//     end plus twice the grace. Meanwhile a sweep can take away what waits for that.
//   - The margin, the grace and the second between them are what API servers
//     whose clocks differ, and writes on their way, have in total.
//
// # Gates
//
// The record keeps away who asks for it. What asks nobody, such as a controller
// that heals by itself, is kept away by a [Gate] while the lease is held in mode
// borrow. It closes what the lease covers and nothing else. The order of things:
//
//	Acquire    look up what is covered, write the record, sweep, close the gate, look at the record
//	Renew      look at the record, extend the gate, move the record's end
//	Open       open the gate, after which renewals move the record alone
//	Release    open the gate, clear the record
//	Break      end the record, sweep
//
// So whatever is closed was closed for a record, by which anybody can judge it;
// and a record never says for longer that something is borrowed than the gate is
// closed, but while it is being handed back. What a kill leaves, and who mends it:
//
//	killed in                              leaves                                    until
//	Acquire, before the gate is closed     a record, and an open gate                it is released or broken, or ends
//	Renew, before the record is moved      a gate that is closed for longer          the next renewal, or a sweep after the record's end
//	Release, before the record is cleared  a record, and an open gate                another Release, or its end
//	Break, before it sweeps                a record that is over, and a closed gate  another Break, or a sweep
//
// A sweep opens what was closed for holders that have the lease no more. Every
// Acquire begins with one, in any mode, and goes on if it fails. [Manager.Sweep]
// does nothing else, needs no lease, and can be called at any time: by what shows
// the lease, and by a watchdog, [Manager.Watch]. It judges what is closed by its
// holder and token, which it reads together with the Date, and leaves alone what
// has a higher token: that belongs to who acquired the lease meanwhile. Where there
// is no Lease, all is left over whose token is of an earlier second than that answer,
// less the grace. Without any sweep the gate ends by itself.
//
// The gate waits for what is being written before it closes, for as long as the
// request says. The record does not end meanwhile: the gate waits for half of what
// is left of it at most, then the record is renewed, then the gate waits again.
//
// Every renewal looks whether the gate stands, also when the end has reached its
// Max. If somebody opened it, the lease is lost, with [ErrOpened] as the cause. If
// the gate only fails or hangs, the renewal has failed and is tried again: the
// lease is held until its end as before.
//
// # Breaking it
//
// [Manager.Break] ends a lease that is somebody else's, in any mode: it writes down
// who does so and why, moves the end to now, and lets the gate sweep. In this order,
// since it is the record that keeps the holder from closing the gate once more. The
// holder's next Check, Renew or Resume is an ErrLost that names who broke it, also
// if others have acquired the lease since, until it is broken again. Others can
// acquire it after the grace, as after any end.
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
//     Where the lease was broken, the grace alone has to pass, and nothing where it
//     was released: release it when it is known what became of every write.
//   - The same for a write of the Lease whose answer was lost: a late
//     acquisition, or a renewal whose end has passed, can still land when its
//     process has given up. Nobody works under it; it ends by itself. But who takes
//     it up by its holder's ID meanwhile does not know that its end had passed,
//     though nobody else held it since, or that a release is still to land.
//   - A gate that a holder closes after its lease was broken and swept, by a
//     write that was on its way: the holder looks at the record once more and
//     opens it; if it is killed before, the next sweep does.
//   - What is written between two looks at a gate that somebody opened.
//   - What was kept waiting by a gate that opened by itself since nobody swept it in
//     time, within the grace after others could acquire the lease. With Argo CD an
//     operation that was parked goes on then, at the revision that it names.
//   - Writers that do not ask for the lease, and people who edit it. Who deletes
//     the Lease takes it away from its holder without a grace: that notices with the
//     next Check, and what it checked before may still be on its way.
//   - An API server whose clock jumps, or several whose clocks differ by more
//     than the grace.
//   - A proxy that answers from a cache, or with a Date of its own.
//
// # API calls
//
// Inspect, Resume and each pass of Watch make one, Acquire and Break two, Check at
// most one, Renew two, Release one. Acquire makes one more for each RetryPeriod that
// it waits, and one to create the Lease. A
// gate adds its own, one for each time that it calls its Guard, and three to an
// Acquire in mode borrow, one to a Release.
//
// # Rights
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- apiGroups: [coordination.k8s.io]
//	  resources: [leases]
//	  verbs: [get, create, update]
//
// Whoever has them can break a lease. What a gate needs is in its package.
package lease
