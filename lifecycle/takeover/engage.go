package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// tries is how often a workload is planned anew that somebody changes meanwhile.
const tries = 5

// replan decides under the lease what is diverted, by what is on the target now.
func (s *Session) replan(ctx context.Context) error {
	if len(s.doc.Workloads) == 0 {
		return s.planFirst(ctx)
	}
	if err := s.loadObject(ctx); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := s.planAgain(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// planFirst decides anew what was decided before the lease was acquired: the target may
// have moved on since.
func (s *Session) planFirst(ctx context.Context) error {
	facts, err := s.Facts(ctx)
	if err != nil {
		return err
	}
	if facts.Live != s.receipt || facts.Record == nil {
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("target %q was delivered to meanwhile: receipt %s is live now", s.doc.Target, facts.Live.Short()),
			Next: "Run the same command again."}
	}
	var names []string
	for _, p := range s.parts {
		names = append(names, p.workload.Namespace+"/"+p.workload.Name)
	}
	plan := s.choose(facts, names)
	if err := plan.Err(); err != nil {
		return err
	}
	var list []journal.Workload
	for _, p := range s.parts {
		for _, w := range plan.Workloads {
			if w.Subject() != p.workload.Subject() {
				continue
			}
			d, err := s.planOne(p, w.Live)
			if err != nil {
				return err
			}
			list = append(list, journal.Workload{State: journal.Untouched, Diversion: d})
		}
	}
	return s.saveLocally(func(d *journal.Document) { d.Step, d.Workloads = journal.Recorded, list })
}

func (s *Session) planOne(p *part, live []byte) (divert.Diversion, error) {
	d, refusals, _, err := divert.Plan(live, p.workload.Declared, p.workload.Container, p.agent)
	if err != nil {
		return d, err
	}
	return d, refused(s.doc.Target, p, refusals)
}

// refused is the error of refusals, nil if there are none.
func refused(target string, p *part, refusals []divert.Refusal) error {
	if len(refusals) == 0 {
		return nil
	}
	e := &RefusedError{Target: target}
	for _, r := range refusals {
		e.Blocked = append(e.Blocked, Block{Subject: p.workload.Subject(), Reason: r.Reason, Next: r.Next})
	}
	return e
}

// planAgain has a workload diverted anew that does not have the agent: it was never
// diverted, or it was put back meanwhile.
func (s *Session) planAgain(ctx context.Context, p *part) error {
	d := s.diversion(p)
	live, err := s.writer.Read(ctx, d.Subject)
	if err != nil {
		return err
	}
	i := s.index(p)
	if s.doc.Workloads[i].State == journal.Diverting {
		if still, err := isDiverted(live, d); still || err != nil {
			return err
		}
	}
	// Whoever put it back may still be replacing its pods.
	if err := s.awaitPods(ctx, p, left, notLeft); err != nil {
		return err
	}
	if live, err = s.writer.Read(ctx, d.Subject); err != nil {
		return err
	}
	next, err := s.planOne(p, live)
	if err != nil {
		return err
	}
	return s.save(ctx, func(doc *journal.Document) {
		doc.Workloads[i] = journal.Workload{State: journal.Untouched, Diversion: next}
	})
}

// recordObject makes it possible for everybody to put the workloads back.
func (s *Session) recordObject(ctx context.Context) error {
	if s.recorded {
		return nil
	}
	if err := s.step(ctx, journal.Recorded); err != nil {
		return err
	}
	o, err := s.store.Create(ctx, s.doc)
	if errors.Is(err, journal.ErrExists) && o.Document.Session == s.doc.Session && o.Document.Ending == nil {
		s.haveRecorded(o)
		return s.save(ctx, func(*journal.Document) {})
	}
	if errors.Is(err, journal.ErrExists) {
		return errors.Join(s.foreign(o), err)
	}
	if err != nil {
		return fmt.Errorf("write the session object of target %q: %w", s.doc.Target, err)
	}
	s.haveRecorded(o)
	s.emit(Event{Type: EventRecorded})
	return nil
}

// untouched are the parts that are still to be diverted.
func (s *Session) untouched() (list []*part) {
	for _, p := range s.parts {
		if s.doc.Workloads[s.index(p)].State == journal.Untouched {
			list = append(list, p)
		}
	}
	return list
}

// try has the API server try everything before anything is done.
func (s *Session) try(ctx context.Context) error {
	var errs []error
	for _, p := range s.untouched() {
		d := s.diversion(p)
		refusals, warnings, err := s.writer.Examine(ctx, d)
		if err == nil {
			err = refused(s.doc.Target, p, refusals)
		}
		if err == nil {
			err = s.writer.DryRun(ctx, d)
		}
		if errors.Is(err, divert.ErrChanged) {
			err = nil // it is planned anew when it is diverted
		}
		errs = append(errs, err)
		for _, w := range warnings {
			s.emitOf(p, Event{Type: EventWarning, Reason: w.Text})
		}
	}
	return errors.Join(errs...)
}

// divertAll diverts the workloads one after the other, and serves each from then on.
func (s *Session) divertAll(ctx context.Context) error {
	if err := s.step(ctx, journal.Diverted); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := s.divertOne(ctx, p); err != nil {
			return err
		}
		s.serve(p)
	}
	return nil
}

func (s *Session) divertOne(ctx context.Context, p *part) error {
	for try := 1; ; try++ {
		err := s.divertNow(ctx, p)
		if err == nil {
			s.emitOf(p, Event{Type: EventDiverted})
			return nil
		}
		if !errors.Is(err, divert.ErrChanged) || try == tries {
			return err
		}
		if err := s.planAgain(ctx, p); err != nil {
			return err
		}
	}
}

// divertNow diverts a workload as it is planned. Of one that is diverted already it
// diverts what somebody has put back; what they have changed otherwise stays.
func (s *Session) divertNow(ctx context.Context, p *part) error {
	i, d := s.index(p), s.diversion(p)
	if s.doc.Workloads[i].State == journal.Untouched {
		if err := s.save(ctx, func(d *journal.Document) { d.Workloads[i].State = journal.Diverting }); err != nil {
			return err
		}
		return s.writer.Divert(ctx, d)
	}
	live, err := s.writer.Read(ctx, d.Subject)
	if err != nil {
		return err
	}
	is, err := divert.Restore(live, d)
	if err != nil {
		return err
	}
	if !hasAgent(is) || len(is.Kept) == 0 {
		return s.writer.Divert(ctx, d)
	}
	if d.Values = putBack(d, is); len(d.Values) > 0 {
		if d, err = asOf(live, d); err == nil {
			err = s.writer.Divert(ctx, d)
		}
	}
	if err == nil && len(is.Kept) > 0 {
		s.emitOf(p, Event{Type: EventWarning, Reason: "somebody else has changed what is diverted, which stays: " + strings.Join(kept(is), ", ")})
	}
	return err
}

// putBack are the values of a diversion that are the original's again, while others are
// the agent's still.
func putBack(d divert.Diversion, is divert.Restoration) (list []divert.Value) {
	theirs := append(kept(is), is.Restored...)
	for _, v := range d.Values {
		if !slices.Contains(theirs, v.Field) {
			list = append(list, v)
		}
	}
	return list
}

// kept are the fields that somebody else has changed.
func kept(r divert.Restoration) (fields []string) {
	for _, k := range r.Kept {
		fields = append(fields, k.Field)
	}
	return fields
}

// asOf is a diversion of the object as it is now.
func asOf(live []byte, d divert.Diversion) (divert.Diversion, error) {
	var now struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(live, &now); err != nil {
		return d, fmt.Errorf("read %s: %w", d.Subject, err)
	}
	d.Original, d.Generation, d.ResourceVersion = live, now.Metadata.Generation, now.Metadata.ResourceVersion
	return d, nil
}

// serveAll waits until every pod of the workloads is served from here.
func (s *Session) serveAll(ctx context.Context) error {
	if err := s.step(ctx, journal.Serving); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := s.awaitPods(ctx, p, s.taken(p), notTaken); err != nil {
			return err
		}
		s.setServing(p, true)
		s.emitOf(p, Event{Type: EventServing})
	}
	return nil
}
