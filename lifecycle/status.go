package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// Status is what a target is, seen at one moment.
type Status struct {
	Target     string
	ClusterUID string
	// Applied is the receipt that the target was last told, Live the one that
	// it was last seen healthy at. Nil if there is none, or it is unreadable.
	Applied, Live *ReceiptStatus
	// LiveUnknown says that Live is nil because it is unreadable.
	LiveUnknown bool
	// Unreadable are the records that cannot be used. If Applied is among them,
	// the target's objects were not looked at.
	Unreadable []Unreadable
	// Last is the latest outcome of the applied receipt, nil if none.
	Last *receipt.Outcome
	// Failure is the newest receipt that failed since the live one was delivered, or
	// that the live one rolls back from, and how; nil if none did.
	Failure *receipt.Summary
	// Lease is the target's lease.
	Lease lease.State
	// Gate is what of the lease's gate is closed, for whoever holds the lease and
	// left over; see lease.State.Exposed. GateErr says why that is not known.
	Gate    []lease.Closed
	GateErr error
	// Observation compares the target's objects with the applied receipt.
	Observation Observation
}

// ReceiptStatus is a receipt and its ID.
type ReceiptStatus struct {
	ID     receipt.ID
	Record receipt.Record
	// Created is when the store first held it; zero if that is not known.
	Created time.Time
}

// Unreadable is a record of a target that is gone, is not what its name says, or
// is of another cluster.
type Unreadable struct {
	What string // "the applied receipt 3f2a9c…"
	// Err says which file or object it is, and why. It matches
	// receipt.ErrNotFound or receipt.ErrCorrupt, but for a receipt of another
	// cluster.
	Err error
}

// IsLive says whether the target is healthy, undrifted, and at the receipt that
// was applied last, and the records of that can be read.
func (s Status) IsLive() bool {
	return len(s.Unreadable) == 0 && s.Applied != nil && s.Live != nil && s.Applied.ID == s.Live.ID && s.Observation.Healthy() && len(s.Observation.Drifted) == 0
}

// Status looks at the target once. It writes nothing. Errors are those of
// Reconcile; a target to which nothing was delivered is none.
func (l *Lifecycle) Status(ctx context.Context) (Status, error) {
	st, err := l.status(ctx, 0, nil)
	if err != nil {
		return st, TargetError(err)
	}
	now, gate, err := l.Lease.Look(ctx)
	if st.Gate, st.GateErr = gate, err; err == nil {
		st.Lease = now
	}
	return st, nil
}

// status looks once or, with patience, until the target is healthy. Anew is that of
// an ObserveRequest.
func (l *Lifecycle) status(ctx context.Context, patience time.Duration, anew func(context.Context) error) (Status, error) {
	return l.statusBy(ctx, func(ctx context.Context, look ObserveRequest) (Observation, error) {
		look.Anew = anew
		if patience <= 0 {
			return l.Deliverer.Observe(ctx, look)
		}
		wait, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		seen, err := l.Deliverer.Wait(wait, look)
		if errors.Is(err, ErrUnhealthy) && ctx.Err() == nil {
			err = nil // it is in the observation
		}
		return seen, err
	})
}

// statusBy looks at the target's objects by look.
func (l *Lifecycle) statusBy(ctx context.Context, look func(context.Context, ObserveRequest) (Observation, error)) (Status, error) {
	s, err := l.assess(ctx)
	if err != nil {
		return Status{}, err
	}
	st := Status{Target: l.Target, ClusterUID: s.clusterUID, Last: s.last, Lease: s.lease, Unreadable: s.unreadable()}
	st.LiveUnknown = s.live == nil && (s.pointers.Live != "" || s.damage.pointers != nil)
	if s.live != nil {
		st.Live = &ReceiptStatus{ID: s.pointers.Live, Record: *s.live}
	}
	if s.applied == nil {
		return st, nil
	}
	st.Applied = &ReceiptStatus{ID: s.pointers.Applied, Record: *s.applied}
	if err := l.history(ctx, &st); err != nil {
		return Status{}, err
	}
	earlier, err := l.earlierObjects(ctx, s.applied.Parent)
	if err != nil {
		return Status{}, err
	}
	r := l.observe(s.applied, s)
	r.Earlier = earlier
	st.Observation, err = look(ctx, r)
	return st, err
}

// history fills in what the list of receipts tells.
func (l *Lifecycle) history(ctx context.Context, st *Status) error {
	receipts, err := l.Receipts.List(ctx)
	if err != nil {
		return fmt.Errorf("list the receipts of target %q: %w", l.Target, err)
	}
	older := false // than the live one
	for i, r := range receipts {
		for _, is := range []*ReceiptStatus{st.Applied, st.Live} {
			if is != nil && is.ID == r.ID {
				is.Created = r.Created
			}
		}
		failed := r.Result != nil && r.Result.Type == receipt.OutcomeFailed
		if failed && st.Failure == nil && (!older || rolledBackFrom(st.Live, r.ID)) {
			st.Failure = &receipts[i]
		}
		older = older || st.Live != nil && r.ID == st.Live.ID
	}
	return nil
}

// rolledBackFrom says whether a receipt is a rollback that came after the one of the
// ID.
func rolledBackFrom(r *ReceiptStatus, id receipt.ID) bool {
	return r.Record.RollbackOf != "" && r.Record.Parent == id
}
