package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// BorrowRequest borrows a target.
type BorrowRequest struct {
	// Holder is the ID by which the target is handed back, as of lease.NewHolder.
	// Keep it where it outlives the process before the call. Required.
	Holder string
	// Purpose is why, for the people who find the target held: one line of at most
	// 256 bytes. Required.
	Purpose string
	// Covers are the names of what is to be left alone by what heals the target by
	// itself: with Argo CD, of Applications. The default is all that the target has.
	Covers []string
	// For is when the lease ends by itself unless it is renewed, in whole seconds.
	// The default is that of the lease.
	For time.Duration
	// Wait is how long to wait while somebody else holds the lease, or while
	// something is being written to what is covered. The default is not to wait.
	Wait time.Duration
}

// Borrow takes the target's lease in mode borrow: nobody delivers to it, and what
// heals it by itself leaves alone what the lease covers, until [Lifecycle.HandBack],
// or until the lease ends since nobody renewed it (lease.Held.Keep).
//
// While somebody else holds the lease, or while what is to be covered is being
// written to, the error is a *BlockedError; it matches lease.ErrInvalid for names
// that cannot be covered.
func (l *Lifecycle) Borrow(ctx context.Context, r BorrowRequest) (*lease.Held, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	held, err := l.borrow(ctx, r)
	return held, TargetError(err)
}

func (l *Lifecycle) borrow(ctx context.Context, r BorrowRequest) (*lease.Held, error) {
	if err := l.Cluster.Prepare(ctx); err != nil {
		return nil, err
	}
	held, err := l.Lease.Acquire(ctx, r.lease(l.Actor))
	return held, l.notBorrowed(err)
}

// notBorrowed says of an error what is in the way, and what helps.
func (l *Lifecycle) notBorrowed(err error) error {
	var other *lease.HeldError
	switch {
	case errors.As(err, &other):
		return l.begin("", nil).blocked(other.State, err)
	case errors.Is(err, lease.ErrBusy):
		return &BlockedError{Reason: fmt.Sprintf("target %q cannot be borrowed now: %v", l.Target, err), Next: "Or let this command wait for it: --wait 2m", Err: err}
	case errors.Is(err, lease.ErrLost):
		return &BlockedError{Reason: err.Error(), Next: "Look at who has it with: kubectl pharos lease show", Err: err}
	}
	return err
}

// TryBorrow says whether the target could be borrowed now, and returns the names
// that the lease would cover, which may be none if nothing heals the target by
// itself. It writes nothing. Whether something is being written to them is not
// looked at. Errors are those of Borrow.
func (l *Lifecycle) TryBorrow(ctx context.Context, r BorrowRequest) (covers []string, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	covers, err = l.Lease.DryRun(ctx, r.lease(l.Actor))
	return covers, TargetError(l.notBorrowed(err))
}

func (r BorrowRequest) lease(actor string) lease.Request {
	return lease.Request{Mode: lease.ModeBorrow, Holder: r.Holder, User: actor, Purpose: r.Purpose, Covers: r.Covers, For: r.For, Wait: r.Wait}
}

func (r BorrowRequest) check() error {
	var missing []error
	if r.Holder == "" {
		missing = append(missing, errors.New("lifecycle: BorrowRequest.Holder is required"))
	}
	if r.Purpose == "" {
		missing = append(missing, errors.New("lifecycle: BorrowRequest.Purpose is required"))
	}
	return errors.Join(missing...)
}
