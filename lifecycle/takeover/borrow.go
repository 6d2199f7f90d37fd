package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// borrow takes the target's lease, or goes on with it.
func (s *Session) borrow(ctx context.Context) error {
	if held, err := s.resumeLease(ctx); held != nil || err != nil {
		return err
	}
	held, err := s.acquire(ctx, s.purpose(), s.covers())
	if err != nil {
		return err
	}
	return s.borrowed(ctx, held)
}

// acquire borrows the target as a new holder, whose ID is written down first. A lease
// that the session itself has had is waited for: it is held for a grace after its end.
func (s *Session) acquire(ctx context.Context, purpose string, covers []string) (*lease.Held, error) {
	before := s.doc.Holder
	if err := s.saveLocally(func(d *journal.Document) { d.Holder = lease.NewHolder() }); err != nil {
		return nil, err
	}
	if len(s.doc.Workloads) == 0 {
		if err := s.step(ctx, journal.Leased); err != nil {
			return nil, err
		}
	}
	for {
		held, err := s.Lifecycle.Borrow(ctx, lifecycle.BorrowRequest{Holder: s.doc.Holder, Purpose: purpose, Covers: covers})
		if other, ok := errors.AsType[*lease.HeldError](err); !ok || other.State.Holder != before && other.State.Holder != s.holder {
			return held, err
		}
		select {
		case <-s.Clock.After(againAfter):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// resumeLease returns the lease if the session has it still, nil if not.
func (s *Session) resumeLease(ctx context.Context) (*lease.Held, error) {
	held, err := s.Lifecycle.Lease.Resume(ctx, s.doc.Holder)
	if errors.Is(err, lease.ErrLost) {
		return nil, s.broken(err)
	}
	if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	if err := held.Renew(ctx); s.broken(err) != nil {
		return nil, s.broken(err)
	} else if errors.Is(err, lease.ErrLost) {
		// Its gate does not stand: it was killed before that was closed, or somebody
		// opened it.
		return nil, held.Release(ctx)
	} else if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	return held, s.borrowed(ctx, held)
}

// broken returns an error that says that somebody broke the session's lease, since they
// want the target; nil for every other.
func (s *Session) broken(err error) error {
	lost, ok := errors.AsType[*lease.LostError](err)
	if !ok || lost.State.Broken == nil || lost.State.Broken.Holder != s.doc.Holder {
		return nil
	}
	return &brokenError{lost}
}

// brokenError is a lease that was lost for good.
type brokenError struct{ *lease.LostError }

func (e *brokenError) Error() string {
	return e.LostError.Error() + "\nClear up what is left of the takeover in this checkout: kubectl pharos handback"
}

// Is reports that somebody else has the target.
func (e *brokenError) Is(target error) bool { return target == lifecycle.ErrBlocked }

func (e *brokenError) Unwrap() error { return e.LostError }

func (s *Session) borrowed(ctx context.Context, held *lease.Held) error {
	s.keep(held)
	s.holder = held.Holder()
	if s.doc.Token != held.Token() {
		if err := s.saveLocally(func(d *journal.Document) { d.Token = held.Token() }); err != nil {
			return err
		}
	}
	state := held.State()
	s.emit(Event{Type: EventLeaseAcquired, Covers: state.Covers, Until: state.Expires})
	return nil
}

// covers are the Applications that own what is diverted.
func (s *Session) covers() (names []string) {
	for _, p := range s.parts {
		if app := nameOf(p.workload.Application); app != "" && !contains(names, app) {
			names = append(names, app)
		}
	}
	slices.Sort(names)
	return names
}

// purpose is for people who find the target held: a lease holds 256 bytes of it.
func (s *Session) purpose() string {
	var names []string
	for _, p := range s.parts {
		names = append(names, p.workload.Namespace+"/"+p.workload.Name)
	}
	text := "takeover of " + strings.Join(names, ", ")
	if len(text) > 256 {
		text = fmt.Sprintf("takeover of %d workloads", len(names))
	}
	return text
}

// check says whether the target is ours, right before a write.
func (s *Session) check(ctx context.Context) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return errHeld
	}
	return held.Check(ctx)
}

// checkEvery is how often it is asked whether the lease is still held. Renewals are
// further apart, and who breaks it wants the target within five seconds.
const checkEvery = 4 * time.Second

// keep renews the lease from now on, and lets traffic through.
func (s *Session) keep(held *lease.Held) {
	s.unkeep()
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	s.gate.open(held)
	ctx, cancel := context.WithCancel(context.Background())
	kept, stop := held.Keep(ctx)
	lost, lose := context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var err error
			select {
			case err = <-kept:
				kept = nil // it is renewed no more
			case <-s.Clock.After(checkEvery):
				err = s.checkSoon(ctx, held)
			case <-ctx.Done():
				return
			}
			if errors.Is(err, lease.ErrLost) {
				s.gate.shut(held) // whatever else is done just now
				lose(err)
				return
			}
		}
	}()
	s.lost, s.keeping = lost, func() {
		cancel()
		stop()
		<-ended
	}
}

// checkSoon asks whether the lease is still held. An API server that does not answer
// keeps it from nothing else.
func (s *Session) checkSoon(ctx context.Context, held *lease.Held) error {
	ctx, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	return held.Check(ctx)
}

// untilBroken does something that somebody else renews the lease for, and that ends when
// somebody breaks it.
func (s *Session) untilBroken(ctx context.Context, do func(context.Context) error) error {
	looking, stop := context.WithCancel(ctx)
	broken, lose := context.WithCancelCause(context.Background())
	holder, ended := s.doc.Holder, make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-s.Clock.After(checkEvery):
			case <-looking.Done():
				return
			}
			state, err := s.inspect(looking)
			if err == nil && state.Broken != nil && state.Broken.Holder == holder {
				lose(&lease.LostError{Target: s.Lifecycle.Target, Reason: state.Broken.String(), State: state})
				return
			}
		}
	}()
	defer func() {
		stop()
		<-ended
	}()
	return whileOurs(ctx, do, broken)
}

func (s *Session) inspect(ctx context.Context) (lease.State, error) {
	ctx, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	return s.Lifecycle.Lease.Inspect(ctx)
}

func (s *Session) unkeep() {
	if s.keeping != nil {
		s.keeping()
	}
	s.keeping, s.lost = nil, nil
}
