package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// saveLocally writes the document to the journal. Once there is a session object the
// session goes on without a journal that cannot be written, since the target knows as
// much: see catchUp.
func (s *Session) saveLocally(change func(*journal.Document)) error {
	doc := s.doc
	doc.Workloads = slices.Clone(doc.Workloads)
	change(&doc)
	version, err := s.write(doc)
	switch {
	case err == nil:
		s.wrote(nil)
	case errors.Is(err, journal.ErrInvalid) || !s.recorded && !s.resumed && !s.standing && !s.returning:
		return fmt.Errorf("write the journal of the takeover in %s: %w", s.Folder, err)
	default:
		s.wrote(err)
		version = s.version
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc, s.version, s.id = doc, version, doc.Session
	return nil
}

// write writes a document. No other process runs this session: what else than the last
// version is there was written by a write of its own that failed after that, or removed.
func (s *Session) write(doc journal.Document) (version string, err error) {
	version, err = s.file.Save(doc, s.version)
	if !errors.Is(err, journal.ErrConflict) {
		return version, err
	}
	if have, found, lerr := s.file.Load(); errors.Is(lerr, journal.ErrNone) || lerr == nil && have.Session == doc.Session {
		version, err = s.file.Save(doc, found)
	}
	if errors.Is(err, journal.ErrConflict) {
		err = fmt.Errorf("another session has written it: %v", err) // which does not pass
	}
	return version, err
}

// wrote says whether the journal can be written, when that changes.
func (s *Session) wrote(err error) {
	switch was := s.unwritten; {
	case err != nil && !was:
		s.emit(Event{Type: EventWarning, Reason: "the journal cannot be written, and it goes on without it. Make room for it, or have it be written to: " + err.Error()})
	case err == nil && was:
		s.emit(Event{Type: EventWarning, Reason: "the journal is written again"})
	}
	s.unwritten = err != nil
}

// unwrite removes the journal, where there is one.
func (s *Session) unwrite() error {
	err := s.file.Remove(s.version)
	if errors.Is(err, journal.ErrConflict) {
		if have, found, lerr := s.file.Load(); errors.Is(lerr, journal.ErrNone) {
			err = nil
		} else if lerr == nil && have.Session == s.doc.Session {
			err = s.file.Remove(found)
		}
	}
	if _, gone := os.Stat(filepath.Dir(s.file.Path())); errors.Is(gone, fs.ErrNotExist) {
		err = nil // with its folder
	}
	switch {
	case errors.Is(err, journal.ErrConflict):
		s.emit(Event{Type: EventWarning, Reason: "another session has written the journal: that one is left alone"})
	case err != nil:
		return fmt.Errorf("all is handed back, and the journal of that takeover cannot be removed in %s: %w", s.Folder, err)
	}
	s.version, s.unwritten = "", false
	return nil
}

// save writes the document to the journal and then, where there is one, to the session
// object.
func (s *Session) save(ctx context.Context, change func(*journal.Document)) error {
	if err := s.saveLocally(change); err != nil || !s.recorded {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.object.Document = s.doc
	next, err := s.store.Save(ctx, s.object)
	if err != nil {
		return fmt.Errorf("write the session object of target %q: %w", s.doc.Target, err)
	}
	s.object = next
	return nil
}

// haveRecorded says that the session object is there, and gives signs of life from now
// on.
func (s *Session) haveRecorded(o journal.Session) {
	s.unrecord()
	s.object, s.recorded = o, true
	s.beat()
}

func (s *Session) unrecord() {
	if s.unbeat != nil {
		s.unbeat()
	}
	s.recorded, s.ended, s.unbeat = false, nil, nil
}

// step writes down what is about to be done. One that was done before it was killed is
// done again.
func (s *Session) step(ctx context.Context, step journal.Step) error {
	steps := journal.Steps()
	if slices.Index(steps, s.doc.Step) < slices.Index(steps, step) {
		if err := s.save(ctx, func(d *journal.Document) { d.Step = step }); err != nil {
			return err
		}
	}
	s.emit(Event{Type: EventStep, Step: step})
	return nil
}
