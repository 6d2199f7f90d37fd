package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/receipt"
)

// ErrNoRollback is matched by the error of Rollback when there is no earlier
// receipt that was live, when the named one never was, or when its content cannot
// be had again.
var ErrNoRollback = errors.New("no rollback")

// earlier is a receipt that was live once.
type earlier struct {
	id       receipt.ID
	record   receipt.Record
	outcomes []receipt.Outcome
	live     time.Time // when it was last seen so
}

// ChooseRollback returns the receipt that Rollback delivers once more: the named
// one or, for an empty ID, the one that was live before. Where the last delivery
// did not become live that is the live receipt; else it is the nearest one before
// the applied receipt that was live. Rollbacks go back further each time: what
// was live before a rollback is what was live before the receipt that it went
// back to. A rollback that was killed is gone on with.
//
// It writes nothing. The error matches ErrNoRollback if there is none, or if the
// named one never was live.
func (l *Lifecycle) ChooseRollback(ctx context.Context, id receipt.ID) (ReceiptStatus, error) {
	s, err := l.assess(ctx)
	if err != nil {
		return ReceiptStatus{}, TargetError(err)
	}
	e, err := l.chooseEarlier(ctx, id, s)
	if err != nil {
		return ReceiptStatus{}, TargetError(err)
	}
	return ReceiptStatus{ID: e.id, Record: e.record}, nil
}

func (l *Lifecycle) chooseEarlier(ctx context.Context, id receipt.ID, s *situation) (*earlier, error) {
	if id != "" {
		return l.named(ctx, id)
	}
	switch {
	case s.unknown() != nil:
		return nil, fmt.Errorf("%w: it is not known what was live before, since %s cannot be read\nName the receipt: kubectl pharos receipts list", ErrNoRollback, s.unknown().What)
	case s.applied == nil:
		return nil, fmt.Errorf("%w: nothing was delivered to target %q yet", ErrNoRollback, l.Target)
	case s.applied.RollbackOf != "" && s.unfinished():
		return l.named(ctx, s.applied.RollbackOf)
	case s.pointers.Live != s.pointers.Applied && s.last != nil && s.last.Type == receipt.OutcomeLive:
		return l.before(ctx, s.applied) // only the pointer does not say that it was live
	case s.pointers.Live == "":
		return nil, fmt.Errorf("%w: no delivery to target %q was live yet", ErrNoRollback, l.Target)
	case s.pointers.Live != s.pointers.Applied:
		return l.named(ctx, s.pointers.Live)
	}
	return l.before(ctx, s.applied)
}

// unfinished says that the last delivery was killed: it did not record how it
// ended, or not with the pointer.
func (s *situation) unfinished() bool {
	if s.last == nil || s.pointers.Live == s.pointers.Applied {
		return false
	}
	return s.last.Type == receipt.OutcomeAttempt || s.last.Type == receipt.OutcomeLive
}

// before looks for what was live before a record, through those that were not,
// and from a rollback on where that went back to.
func (l *Lifecycle) before(ctx context.Context, r *receipt.Record) (*earlier, error) {
	for {
		if r.RollbackOf != "" {
			to, err := l.Receipts.Get(ctx, r.RollbackOf)
			if err != nil {
				return nil, l.noEarlier(r.RollbackOf, err)
			}
			r = &to
			continue
		}
		if r.Parent == "" {
			return nil, fmt.Errorf("%w: no receipt before that of commit %s was live", ErrNoRollback, short(commitOf(r)))
		}
		e, err := l.named(ctx, r.Parent)
		if err == nil || !errors.Is(err, errNeverLive) {
			return e, err
		}
		r = &e.record
	}
}

// errNeverLive says of a receipt that is read that it never was live.
var errNeverLive = errors.New("it never was live")

// named reads a receipt that was live once. With errNeverLive it returns the one
// that never was.
func (l *Lifecycle) named(ctx context.Context, id receipt.ID) (*earlier, error) {
	e := &earlier{id: id}
	var err error
	if e.record, err = l.Receipts.Get(ctx, id); err != nil {
		return nil, l.noEarlier(id, err)
	}
	if e.outcomes, err = l.Receipts.Outcomes(ctx, id); err != nil {
		return nil, l.noEarlier(id, err)
	}
	for _, o := range e.outcomes {
		if o.Type == receipt.OutcomeLive {
			e.live = o.Time
		}
	}
	if e.live.IsZero() {
		return e, fmt.Errorf("%w to receipt %s: %w\nSee which were: kubectl pharos receipts list", ErrNoRollback, id.Short(), errNeverLive)
	}
	return e, nil
}

// afterRollback says that a delivery leaves what the target was rolled back to.
func (l *Lifecycle) afterRollback(ctx context.Context, w *want, s *situation) string {
	back := fmt.Sprintf("the target was rolled back to receipt %s, and this delivery ends that", s.applied.RollbackOf.Short())
	if from, err := l.Receipts.Get(ctx, s.applied.Parent); err == nil && from.Commit == string(w.commit.ID) {
		back = fmt.Sprintf("the target was rolled back from this very commit to receipt %s, and it is delivered again", s.applied.RollbackOf.Short())
	}
	return back
}

func (l *Lifecycle) noEarlier(id receipt.ID, err error) error {
	if unusable(err) {
		return fmt.Errorf("%w to receipt %s: %w\nName another one: kubectl pharos receipts list", ErrNoRollback, id.Short(), err)
	}
	return fmt.Errorf("read receipt %s of target %q: %w", id.Short(), l.Target, err)
}
