package lifecycle

import (
	"context"
	"errors"
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
		if err != nil || !s.lease.Held || r.DryRun != DryRunNone {
			return s, err
		}
		if err := o.await(ctx, s.lease, nil); err != nil {
			return nil, err
		}
	}
}

func (o *operation) acquire(ctx context.Context, r ReconcileRequest) (*lease.Held, error) {
	for {
		held, err := o.Lease.Acquire(ctx, lease.Request{Mode: lease.ModeDeliver, User: o.Actor, Purpose: "reconcile " + short(r.Commit.ID)})
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
	case !s.Expires.IsZero() && !s.Expires.After(s.Now):
		next = "Run the same command again in a few seconds, or let it wait: --wait 30s"
	case s.Mode != lease.ModeDeliver:
		next = "Ask " + who + " to release it: kubectl pharos lease release\n" +
			"From another checkout than it was acquired in: kubectl pharos lease release --holder \"$(kubectl pharos lease show -o jsonpath={.holder})\""
	}
	return &BlockedError{Reason: err.Error(), Holder: who, Mode: string(s.Mode), Until: s.Expires, Next: next, Err: err}
}
