package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// loadObject finds the session object of a session that goes on. What somebody else has
// begun to put back is put back in full, and then diverted anew.
func (s *Session) loadObject(ctx context.Context) error {
	s.unrecord()
	o, err := s.store.Load(ctx)
	switch {
	case errors.Is(err, journal.ErrNone):
		return s.supposeDiverted()
	case errors.Is(err, journal.ErrDamaged):
		return s.setAside(ctx, o)
	case err != nil:
		return err
	case o.Document.Session != s.doc.Session:
		return s.foreign(o)
	}
	if o.Document.Ending != nil {
		for _, w := range s.doc.Workloads {
			if w.State == journal.Diverting {
				if _, err := s.writer.Restore(ctx, w.Diversion); err != nil {
					return err
				}
			}
		}
		s.emit(Event{Type: EventWarning, Reason: fmt.Sprintf("%s has put the workloads back meanwhile: %s", o.Document.Ending.By, o.Document.Ending.Reason)})
	}
	s.haveRecorded(o)
	return s.save(ctx, func(d *journal.Document) { d.Ending = nil })
}

// setAside gets a session object out of the way that cannot be read. Under the lease it
// is nobody else's, and the journal has as much.
func (s *Session) setAside(ctx context.Context, o journal.Session) error {
	aside, err := s.store.SetAside(ctx, o)
	if err != nil {
		return err
	}
	s.emit(Event{Type: EventWarning, Reason: fmt.Sprintf("what is written down on the target could not be read; it goes on by this checkout's journal, and a copy is Secret %s/%s", s.Namespace, aside)})
	return s.supposeDiverted()
}

// supposeDiverted has all workloads be looked at that the journal takes for untouched,
// where there is no session object that knows better: what another process has diverted
// while it could not write the journal is not in it. To put back what was not diverted
// does no harm.
func (s *Session) supposeDiverted() error {
	untouched := func(w journal.Workload) bool { return w.State == journal.Untouched }
	if !s.resumed || !reached(s.doc.Step, journal.Recorded) || !slices.ContainsFunc(s.doc.Workloads, untouched) {
		return nil
	}
	return s.saveLocally(func(d *journal.Document) {
		for i, w := range d.Workloads {
			if untouched(w) {
				d.Workloads[i].State = journal.Diverting
			}
		}
	})
}

// foreign says that there is a session of somebody else.
func (s *Session) foreign(o journal.Session) error {
	return &lifecycle.BlockedError{Holder: o.Document.User,
		Reason: fmt.Sprintf("a takeover of target %q by %s was not handed back, which began at %s", s.Lifecycle.Target, o.Document.User, o.Document.Began.Format(time.RFC3339)),
		Next:   "Hand it back in their stead: kubectl pharos handback --force --reason TEXT"}
}

// loadForReturn finds the session object. Whoever else puts the workloads back does the
// same.
func (s *Session) loadForReturn(ctx context.Context) error {
	o, err := s.store.Load(ctx)
	switch {
	case errors.Is(err, journal.ErrNone):
		s.unrecord()
		return s.supposeDiverted()
	case errors.Is(err, journal.ErrDamaged):
		s.unrecord()
		return s.setAside(ctx, o)
	case err != nil:
		return err
	case o.Document.Session != s.doc.Session:
		s.unrecord()
		return nil
	}
	s.haveRecorded(o)
	return s.saveLocally(func(d *journal.Document) { d.Ending = o.Document.Ending })
}
