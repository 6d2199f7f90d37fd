package takeover

import (
	"context"
	"errors"
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
	// rewriteAfter is the pause before a journal that could not be written is again.
	rewriteAfter = 5 * time.Second
	// againAfter is the pause before what failed is tried again.
	againAfter = 2 * time.Second
)

// attend serves until everything is to be handed back, which is errAsked, ctx ends, or
// it is not known any more whether the target is this session's: any other error.
func (s *Session) attend(ctx context.Context) error {
	s.standing = true
	defer s.overlook()()
	wake, seen := s.Clock.After(wakeEvery), s.gate.asked() // it may have slept since
	var compare, rewrite <-chan time.Time
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
		if s.unwritten && rewrite == nil {
			rewrite = s.Clock.After(rewriteAfter)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-endOf(s.lost):
			return context.Cause(s.lost)
		case <-endOf(s.ended):
			return context.Cause(s.ended)
		case c := <-s.commands:
			if done, err := s.obey(ctx, c); done {
				return err
			}
		case <-wake:
			at := now(s.Clock)
			if at.sleptSince(seen) {
				if err := s.awake(ctx); err != nil {
					return err
				}
			}
			wake, seen = s.Clock.After(wakeEvery), at
		case <-rewrite:
			rewrite = nil
			if err := s.saveLocally(func(*journal.Document) {}); err != nil {
				s.Log.Warn("write the journal", "err", err)
			}
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
				s.emit(Event{Type: EventUnedited, Reason: "the working tree is as the receipt says again; handing back"})
				return errAsked
			}
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
		err = s.persist(ctx, s.Timeout, s.goesOn, func(ctx context.Context) error {
			return whileOurs(ctx, func(ctx context.Context) error { return s.returnPart(ctx, p) }, s.lost)
		})
		if err != nil {
			break
		}
	}
	c.done <- err
	return false, nil
}

// awake looks whose the target is after the machine slept. What is asked meanwhile is
// obeyed: the API server may be away for long. errAsked if everything is to be handed back.
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
		case c := <-s.commands:
			if done, err := s.obey(ctx, c); done {
				return err
			}
		case <-endOf(s.lost):
			return context.Cause(s.lost)
		case <-ctx.Done():
			return nil // attend says so
		}
	}
}

// beat gives signs of life until stop is called, and tells when somebody else puts the
// workloads back.
func (s *Session) beat() {
	ctx, cancel := context.WithCancel(context.Background())
	ended, end := context.WithCancelCause(context.Background())
	done := make(chan struct{})
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
				end(err)
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

// leave serves nothing more, and writes nothing: the lease was lost, or the workloads are
// put back by others.
func (s *Session) leave(lost error) {
	s.giveUp()
	s.emit(Event{Type: EventLeaseLost, Reason: lost.Error()})
	for _, p := range s.parts {
		s.setServing(p, false)
		s.unserve(p)
	}
}
