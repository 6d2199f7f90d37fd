package takeover

import (
	"context"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// saveLocally writes the document to the journal.
func (s *Session) saveLocally(change func(*journal.Document)) error {
	doc := s.doc
	doc.Workloads = slices.Clone(doc.Workloads)
	change(&doc)
	version, err := s.file.Save(doc, s.version)
	if err != nil && s.returning {
		s.emit(Event{Type: EventWarning, Reason: "the journal cannot be written, and the hand-back goes on without it: " + err.Error()})
		version, err = s.version, nil
	}
	if err != nil {
		return fmt.Errorf("write the journal of the takeover in %s: %w", s.Folder, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc, s.version, s.id = doc, version, doc.Session
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
