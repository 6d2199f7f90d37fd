package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// lookAgain is how long to wait before the lease of somebody else is looked at
// again.
const lookAgain = time.Second

// whenFree reads the target. While somebody else holds its lease it waits, as
// long as the request allows. A dry run takes no lease, so it does not wait.
func (o *operation) whenFree(ctx context.Context, r ReconcileRequest) (*situation, error) {
	for {
		s, err := o.assess(ctx)
		if err != nil || r.DryRun != DryRunNone || r.mayWrite(s.lease) {
			return s, err
		}
		if r.Maintenance != "" {
			return nil, o.notMaintained(s.lease, nil)
		}
		if err := o.await(ctx, s.lease, nil); err != nil {
			return nil, err
		}
	}
}

func (o *operation) acquire(ctx context.Context, r ReconcileRequest, purpose string) (*lease.Held, error) {
	for {
		held, err := o.hold(ctx, r, purpose)
		var other *lease.HeldError
		if errors.As(err, &other) {
			if err := o.await(ctx, other.State, err); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		state := held.State()
		o.emit(Event{Type: EventLeaseAcquired, Lease: &state})
		return held, nil
	}
}

// mayWrite says whether a lease lets the request write: nobody holds it, or the
// maintenance does under which the delivery is made.
func (r ReconcileRequest) mayWrite(s lease.State) bool {
	if r.Maintenance != "" {
		return s.Held && s.Holder == r.Maintenance && s.Mode == lease.ModeMaintain
	}
	return !s.Held
}

// hold acquires the lease, or takes up the maintenance of the request.
func (o *operation) hold(ctx context.Context, r ReconcileRequest, purpose string) (*lease.Held, error) {
	if r.Maintenance == "" {
		return o.Lease.Acquire(ctx, lease.Request{Mode: lease.ModeDeliver, User: o.Actor, Purpose: purpose})
	}
	held, err := o.Lease.Retake(ctx, r.Maintenance)
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		return nil, o.notMaintained(lost.State, err)
	}
	return held, err
}

// notMaintained says that the maintenance is over under which a delivery was to
// be made.
func (o *operation) notMaintained(s lease.State, err error) error {
	if s.Held {
		return o.blocked(s, err)
	}
	return &BlockedError{Reason: fmt.Sprintf("the maintenance of target %q under which to deliver is over", o.Target),
		Next: "Deliver without --maintenance, or begin another one: kubectl pharos maintenance on --reason TEXT", Err: err}
}

// await waits a moment for a lease that somebody else holds, and says so, once
// for each holder. The error is a *BlockedError when there is no time left.
func (o *operation) await(ctx context.Context, s lease.State, err error) error {
	left := o.patience.Sub(o.Now())
	if left <= 0 {
		return o.blocked(s, err)
	}
	if o.awaited != s.Holder {
		o.awaited = s.Holder
		o.emit(Event{Type: EventLeaseAwaited, Lease: &s})
	}
	select {
	case <-time.After(min(lookAgain, left)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *operation) blocked(s lease.State, err error) error {
	who := s.Who()
	if err == nil {
		err = &lease.HeldError{Target: o.Target, State: s, Now: s.Now}
	}
	next := "Wait for it with --wait, or look at it with: kubectl pharos lease show"
	switch {
	case s.WasBroken(), !s.Expires.IsZero() && !s.Expires.After(s.Now):
		next = "Run the same command again in a few seconds, or let it wait: --wait 30s"
	case s.Mode == lease.ModeMaintain:
		next = "It ends when the target is live again: kubectl pharos maintenance off\n" +
			"To deliver under it, from the repository in which it was begun: --maintenance"
	case s.Mode != lease.ModeDeliver:
		next = "Ask " + who + " to release it: kubectl pharos lease release\n" +
			"From another checkout than it was acquired in: kubectl pharos lease release --holder \"$(kubectl pharos lease show -o jsonpath={.holder})\"\n" +
			"Or take it away, which is said to who has it: kubectl pharos lease break --reason TEXT"
	}
	return &BlockedError{Reason: err.Error(), Holder: who, Mode: string(s.Mode), Until: s.Expires, Next: next, Err: err}
}
