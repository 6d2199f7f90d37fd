package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

const (
	// beatEvery is how often the session object is told that this process lives.
	beatEvery = 45 * time.Second
	// wakeEvery is how often it is looked whether the machine slept.
	wakeEvery = time.Second
	// againAfter is the pause before what failed is tried again.
	againAfter = 2 * time.Second
)

// attend serves until everything is to be handed back, which is errAsked, ctx ends, or
// the target is somebody else's.
func (s *Session) attend(ctx context.Context) error {
	wake, seen := s.Clock.After(wakeEvery), s.gate.asked() // it may have slept since
	var compare <-chan time.Time
	early := s.early()
	for i, c := range early {
		if done, err := s.obey(ctx, c); done {
			for _, c := range early[i+1:] {
				s.later(c)
			}
			return err
		}
	}
	for {
		var lost error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case lost = <-s.lost:
		case c := <-s.commands:
			if done, err := s.obey(ctx, c); done {
				return err
			}
		case <-wake:
			at := now(s.Clock)
			if at.sleptSince(seen) {
				lost = s.awake(ctx)
			}
			wake, seen = s.Clock.After(wakeEvery), at
		case lost = <-s.ended:
		case <-s.edits:
			if s.Same != nil {
				compare = s.Clock.After(againAfter) // edits come in bursts
			}
		case <-compare:
			compare = nil
			if same, err := s.Same(ctx); err != nil {
				s.Log.Warn("compare the working tree with the receipt", "err", err)
				compare = s.Clock.After(againAfter) // there may be no other edit
			} else if same {
				s.emit(Event{Type: EventWarning, Reason: "the working tree is as the receipt says again"})
				return errAsked
			}
		}
		if lost == nil {
			continue
		}
		if err := s.recover(ctx, lost); err != nil {
			return err
		}
	}
}

// obey does what is asked. done says that everything is to be handed back.
func (s *Session) obey(ctx context.Context, c command) (done bool, err error) {
	if s.isAll(c) {
		s.later(c)
		return true, errAsked
	}
	for _, p := range c.parts {
		if !slices.Contains(s.parts, p) {
			continue // it is back already
		}
		if err = s.returnPart(ctx, p); err != nil {
			break
		}
	}
	c.done <- err
	return false, nil
}

// awake looks whose the target is after the machine slept.
func (s *Session) awake(ctx context.Context) error {
	s.emit(Event{Type: EventHeld, Reason: "this machine slept: it is looked whether the target is still borrowed"})
	for {
		err := s.gate.prove(ctx)
		switch {
		case err == nil:
			for _, p := range s.parts {
				s.emitOf(p, Event{Type: EventServing})
			}
			return nil
		case errors.Is(err, lease.ErrLost):
			return err
		}
		s.Log.Warn("look at the lease", "err", err)
		select {
		case <-s.Clock.After(againAfter):
		case err := <-s.lost:
			return err
		case <-ctx.Done():
			return nil // attend says so
		}
	}
}

// beat gives signs of life until stop is called, and tells when somebody else puts the
// workloads back.
func (s *Session) beat() {
	ctx, cancel := context.WithCancel(context.Background())
	ended, done := make(chan error, 1), make(chan struct{})
	s.ended, s.unbeat = ended, func() { cancel(); <-done }
	go func() {
		defer close(done)
		for {
			select {
			case <-s.Clock.After(beatEvery):
			case <-ctx.Done():
				return
			}
			err := s.beatOnce(ctx)
			switch {
			case errors.Is(err, journal.ErrEnding), errors.Is(err, journal.ErrNone), errors.Is(err, journal.ErrConflict):
				ended <- err
				return
			case err != nil:
				s.Log.Warn("give a sign of life", "err", err)
			}
		}
	}()
}

func (s *Session) beatOnce(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	next, err := s.store.Beat(ctx, s.object)
	if err == nil {
		s.object = next
	}
	return err
}

// giveUp writes nothing more to the target, and lets no traffic through.
func (s *Session) giveUp() {
	s.gate.close()
	s.unkeep()
	s.unrecord()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
}

// recover goes on after the lease was lost, or the workloads were put back by others,
// if nobody else has taken the target. Until then nothing is served.
func (s *Session) recover(ctx context.Context, lost error) error {
	s.giveUp()
	s.emit(Event{Type: EventLeaseLost, Reason: lost.Error()})
	for _, p := range s.parts {
		s.setServing(p, false)
		if p.stop != nil {
			p.stop()
			p.stop = nil
		}
	}
	if err := s.broken(lost); err != nil {
		return err
	}
	for {
		err := s.borrow(ctx)
		if err == nil {
			err = s.engage(ctx)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, lease.ErrHeld):
			return errors.Join(lost, err)
		case s.broken(err) != nil, !again(err):
			return fmt.Errorf("go on with the takeover after %w: %w", lost, err)
		}
		s.emit(Event{Type: EventHeld, Reason: err.Error()})
		select {
		case <-s.Clock.After(againAfter):
		case c := <-s.commands:
			s.later(c)
			return errAsked
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
