package takeover

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

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
	err = s.run(ctx, names)
	s.emit(finished(err))
	return err
}

// lock keeps every other process from running the session meanwhile.
func (s *Session) lock() (unlock func(), err error) {
	unlock, err = flock.Lock(filepath.Join(s.Folder, "lock"))
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
		if err := s.sameCluster(ctx); err != nil {
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
	asking, heard := s.listen(ctx)
	err = s.takeOver(asking, resumed, names)
	if heard() {
		err = errAsked
	}
	if err == nil {
		err = s.attend(ctx)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.doc.Session == "":
		return err // nothing was begun
	case len(s.doc.Workloads) > 0 && (errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrHeld)):
		return err // what is there is not ours any more
	case resumed && again(err):
		return err // it goes on when the target can be reached
	case errors.Is(err, errAsked):
		err = nil
	}
	stop := s.collect()
	back := s.giveBack(ctx)
	stop()
	s.answer(back)
	return errors.Join(err, back)
}

// drop ends what runs on this machine.
func (s *Session) drop() {
	s.giveUp()
	if err := s.stopAll(); err != nil {
		s.Log.Warn("end what runs on this machine", "err", err)
	}
	s.answer(ErrNoSession)
}

// takeOver does all that comes before the traffic of all workloads is served from here.
func (s *Session) takeOver(ctx context.Context, resumed bool, names []string) error {
	if resumed && slices.Index(journal.Steps(), s.doc.Step) >= slices.Index(journal.Steps(), journal.HandingBack) {
		return errAsked // it was handed back already when it was killed
	}
	if s.Agents == nil || s.Workstation == nil {
		return errors.New("takeover: Config.Agents and Config.Workstation are required to take over")
	}
	if !resumed {
		if err := s.plan(ctx, names); err != nil {
			return err
		}
		if err := s.publish(ctx); err != nil {
			return err
		}
	} else if err := s.remember(ctx); err != nil {
		return err
	}
	if err := s.borrow(ctx); err != nil {
		return err
	}
	return s.engage(ctx)
}

// engage diverts the workloads and serves them: what is under the lease.
func (s *Session) engage(ctx context.Context) error {
	for _, do := range []func(context.Context) error{s.replan, s.recordObject, s.try, s.startAll, s.divertAll, s.serveAll} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}
