package takeover

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/flock"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// ErrRunning is returned by Run and Finish while the session runs in another process
// of this machine, or in this one.
var ErrRunning = errors.New("the session of this checkout runs already")

// Pending returns the session that the journal has, which may run or not; the error
// matches journal.ErrNone if it has none.
func (s *Session) Pending() (journal.Document, error) {
	doc, _, err := s.file.Load()
	return doc, err
}

// Run takes the workloads over that the names are for (see Select), or goes on with the
// session that the journal has, whose workloads are those that it has. It serves them
// until everything is handed back: since HandBack asked for it, or by itself.
//
// If the takeover does not succeed, what was done is undone. When ctx ends Run returns,
// and leaves the session as it is: the next Run goes on with it, and Finish hands it
// back. So does a process that is killed. If the target is somebody else's by then
// nothing is served any more, and the error matches lease.ErrLost.
func (s *Session) Run(ctx context.Context, names ...string) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	s.answer(ErrNoSession) // who asked the last one too late
	over := make(chan struct{})
	s.mu.Lock()
	s.over = over
	s.mu.Unlock()
	defer func() {
		s.drop()
		s.mu.Lock()
		s.over = nil
		s.mu.Unlock()
		close(over)
	}()
	stop := s.guard()
	err = s.attempted("take over", s.run(ctx, names))
	stop()
	s.emit(finished(err))
	return err
}

// lock keeps every other process from running the session meanwhile.
func (s *Session) lock() (unlock func(), err error) {
	unlock, err = flock.Lock(filepath.Join(s.Folder, lockName))
	if errors.Is(err, flock.ErrLocked) {
		err = ErrRunning
	}
	return unlock, err
}

func (s *Session) run(ctx context.Context, names []string) error {
	resumed, err := s.load()
	if err != nil {
		return err
	}
	s.emit(Event{Type: EventStarted, Resumed: resumed})
	s.sweep()
	if resumed {
		if err := s.persist(ctx, s.Timeout, passes, s.findOut); err != nil {
			return err
		}
	}
	if resumed && len(s.doc.Workloads) == 0 {
		// It was killed before anything was to be written to a workload.
		if err := s.giveBack(ctx); err != nil {
			return err
		}
		resumed = false
	}
	err = s.untilAsked(ctx, func(ctx context.Context) error { return s.prepareAll(ctx, resumed, names) })
	if err == nil {
		err = s.hold(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.doc.Session == "" && errors.Is(err, errAsked):
		s.answer(nil)
		return nil
	case s.doc.Session == "":
		return err // nothing was begun
	case len(s.doc.Workloads) > 0 && s.broken(err) != nil:
		err = s.broken(err) // what is there is not ours any more
		s.answer(err)
		return err
	case len(s.doc.Workloads) > 0 && errors.Is(err, lease.ErrHeld), resumed && again(err):
		s.answer(err) // it goes on when the target is free, or can be reached
		return err
	case errors.Is(err, errAsked):
		err = nil
	}
	stop := s.collect()
	back := s.giveBack(ctx)
	stop()
	s.answer(back)
	return errors.Join(err, back)
}

// prepareAll does what comes before the target is borrowed.
func (s *Session) prepareAll(ctx context.Context, resumed bool, names []string) error {
	if resumed && isReturned(s.doc.Step) {
		return errAsked // it was handed back already when it was killed
	}
	if s.Agents == nil || s.Workstation == nil {
		return errors.New("takeover: Config.Agents and Config.Workstation are required to take over")
	}
	if resumed {
		if err := s.persist(ctx, s.Timeout, passes, s.remember); err != nil || len(s.parts) > 0 {
			return err
		}
		s.emit(Event{Type: EventWarning, Reason: "all of its workloads were put back already"})
		return errAsked // of a session without workloads the lease would be all that is left
	}
	if err := s.plan(ctx, names); err != nil {
		return err
	}
	return s.publish(ctx)
}

// hold has the workloads served from here, until everything is to be handed back, which
// is errAsked, ctx ends, the target is somebody else's, or a step fails for good. When
// the lease was lost, or the workloads were put back by others, it takes them over anew;
// until then nothing is served.
func (s *Session) hold(ctx context.Context) error {
	var lost error
	for {
		err := s.untilAsked(ctx, s.take)
		why := s.notOurs()
		if err == nil {
			err = s.attend(ctx)
			why = err
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errAsked):
			return errAsked
		case why != nil && s.broken(why) == nil:
			lost = why
			s.leave(lost)
			continue
		case why != nil:
			s.leave(why)
			return why
		case lost != nil:
			// What was lost is no part of the error: the lease may be held again.
			return fmt.Errorf("go on with the takeover after this: %v: %w", lost, err)
		}
		return err
	}
}

// take borrows the target, diverts the workloads and serves them. What stands is not
// given up for an outage, however long, and what is only begun not for a short one.
func (s *Session) take(ctx context.Context) error {
	limit := s.Timeout
	if s.standing {
		limit = 0
	}
	return s.persist(ctx, limit, s.goesOn, func(ctx context.Context) error {
		if causeOf(s.lost) != nil || s.lost == nil {
			if err := s.borrow(ctx); err != nil {
				return err
			}
		}
		return s.engage(ctx)
	})
}

// goesOn says whether a step that failed is done again.
func (s *Session) goesOn(err error) bool {
	switch {
	case s.notOurs() != nil || s.broken(err) != nil:
		return false
	case s.standing:
		return again(err)
	}
	return passes(err)
}

// notOurs is why what is on the target may not be this session's any more; nil while
// nothing says so.
func (s *Session) notOurs() error {
	if err := causeOf(s.lost); err != nil {
		return err
	}
	return causeOf(s.ended)
}

// untilAsked does something that ends with errAsked when everything is to be handed
// back.
func (s *Session) untilAsked(ctx context.Context, do func(context.Context) error) error {
	asking, heard := s.listen(ctx)
	err := do(asking)
	if heard() {
		return errAsked
	}
	return err
}

// drop ends what runs on this machine.
func (s *Session) drop() {
	s.giveUp()
	if err := s.stopAll(); err != nil {
		s.Log.Warn("end what runs on this machine", "err", err)
	}
	s.answer(ErrNoSession)
}

// engage diverts the workloads and serves them: what is under the lease.
func (s *Session) engage(ctx context.Context) error {
	for _, do := range []func(context.Context) error{s.replan, s.recordObject, s.try, s.startAll, s.divertAll, s.serveAll} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := whileOurs(ctx, do, s.lost, s.ended); err != nil {
			return err
		}
	}
	return nil
}
