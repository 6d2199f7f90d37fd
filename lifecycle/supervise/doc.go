// Package supervise restarts what is not healthy, as often as its budget allows,
// and then parks it with the reason until somebody intervenes.
//
//	s, err := supervise.New(supervise.Config{Thing: server, Store: store})
//	err = s.Run(ctx) // until ctx ends
//
// # The rule
//
// A restart follows two failed checks in a row. Five restarts are the budget of one
// delivery. What fails two checks in a row after that is parked: it is checked, but
// not restarted any more. [Decide] is the whole rule, a function without effects;
// [Policy] has its numbers.
//
// A check that succeeds ends the row of failures, and nothing else: what is well for
// a moment after each restart is restarted five times, too, and parked. What is
// parked stays parked also when it has become well by itself.
//
// The budget is full again, and what is parked is supervised again,
//
//   - when a new delivery is observed: another [Observation.Revision];
//   - when a person says so: [Supervisor.Unpark], or where the Store has it.
//
// With [Policy.Refill] the budget of what is not parked is full again also when every
// check has succeeded for that long. It has to be asked for.
//
// What cannot be observed is not a failure: an API server that does not answer says
// nothing about a workload. Nothing is counted then.
//
// # What is kept
//
// The [State] is kept in a [Store], in a file ([File]) or where else it belongs:
// lifecycle/supervise/workload keeps that of a workload on the workload. It is
// written only when it changes. What is healthy and has not been restarted has
// none.
//
// A restart is written down before it is made. So a process that is killed at any
// point may have counted a restart that it did not make, and never makes one that
// it did not count: there are never more than the budget says. Several supervisors
// of one thing share its budget, since whoever writes has to know what is stored; the
// check of each is one in the row.
//
// What is stored and cannot be read is left as it is, and nothing is restarted
// until a person has looked: [ErrDamaged].
package supervise
