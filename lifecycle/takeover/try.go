package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Try returns the plan of Run with these names, and has the target say of it what only
// it can: whether the lease is free, and whether the API server would accept the
// diversions, with its admission and quotas, which is all among Plan.Blocked and
// Plan.Warnings. It writes nothing.
func (s *Session) Try(ctx context.Context, names ...string) (Plan, error) {
	p, err := s.tryAll(ctx, names)
	return p, s.attempted("try to take over", err)
}

func (s *Session) tryAll(ctx context.Context, names []string) (Plan, error) {
	facts, err := s.Facts(ctx)
	if err != nil {
		return Plan{}, err
	}
	p := s.choose(facts, names)
	if err := p.Err(); err != nil {
		if taken := s.tryTaken(ctx); taken != nil && len(p.Blocked) > 0 {
			p.Blocked = []Block{*taken}
		}
		return p, nil // the caller asks for it
	}
	if s.Workstation == nil {
		return p, errors.New("takeover: Config.Workstation is required to try a takeover")
	}
	if err := s.nameAll(&p); err != nil {
		return p, err
	}
	if err := s.tryLease(ctx, &p); err != nil {
		return p, err
	}
	for _, w := range p.Workloads {
		if err := s.tryWorkload(ctx, &p, w, recorded(facts.Record, w.Image).Repository); err != nil {
			return p, err
		}
	}
	return p, nil
}

// tryTaken says that the target is taken over, or not put back yet since it was; nil if it is
// not, or if that cannot be read. It comes before whatever else is in the way: what the
// agent has replaced is not what Git declares, and a delivery would not help.
func (s *Session) tryTaken(ctx context.Context) *Block {
	o, err := s.store.Load(ctx)
	if err != nil || !slices.ContainsFunc(o.Document.Workloads, func(w journal.Workload) bool { return w.State == journal.Diverting }) {
		return nil
	}
	d, began := o.Document, o.Document.Began.Format(time.RFC3339)
	b := &Block{Subject: "target " + d.Target, Reason: fmt.Sprintf("it is taken over by %s since %s", d.User, began), Next: "Hand it back in their stead: kubectl pharos handback --force --reason TEXT"}
	if own, err := s.Pending(); err == nil && own.Session == d.Session {
		b.Reason = "it is taken over from this checkout since " + began
		b.Next = "Watch it: kubectl pharos takeover attach. Or hand it back: kubectl pharos handback"
		return b
	}
	if state, err := s.Lifecycle.Lease.Inspect(ctx); err == nil && !(state.Held && state.Holder == d.Holder) {
		b.Reason = fmt.Sprintf("what a takeover by %s has left there, whose lease has ended, is not put back yet", d.User)
		b.Next = "kubectl pharos takeover puts it back first. To do nothing else: kubectl pharos handback --force --reason TEXT"
	}
	return b
}

func (s *Session) tryLease(ctx context.Context, p *Plan) error {
	target := "target " + p.Target
	_, err := s.Lifecycle.TryBorrow(ctx, lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "takeover", Covers: p.Covers})
	if blocked, ok := errors.AsType[*lifecycle.BlockedError](err); ok {
		p.Blocked = append(p.Blocked, Block{Subject: target, Reason: blocked.Reason, Next: blocked.Next})
		return nil
	}
	if err != nil {
		return err
	}
	o, err := s.store.Load(ctx)
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		return lifecycle.TargetError(err)
	}
	p.Warnings = append(p.Warnings, lifecycle.Finding{Subject: target, Message: fmt.Sprintf("a takeover by %s is left there, whose lease has ended: it is put back first", o.Document.User)})
	return nil
}

func (s *Session) tryWorkload(ctx context.Context, p *Plan, w Workload, repository string) error {
	d, _, _, err := divert.Plan(w.Live, w.Declared, w.Container, standIn(repository))
	if err != nil {
		return err
	}
	block := func(reason, next string) {
		p.Blocked = append(p.Blocked, Block{Subject: w.Subject(), Reason: reason, Next: next})
	}
	refusals, warnings, err := s.writer.Examine(ctx, d)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	for _, r := range refusals {
		block(r.Reason, r.Next)
	}
	for _, warning := range warnings {
		p.Warnings = append(p.Warnings, lifecycle.Finding{Subject: w.Subject(), Message: warning.Text})
	}
	err = s.writer.DryRun(ctx, d)
	if errors.Is(err, divert.ErrRejected) || errors.Is(err, divert.ErrChanged) || errors.Is(err, divert.ErrGone) {
		block(err.Error(), "")
		return nil
	}
	return lifecycle.TargetError(err)
}

// Unchanged says whether every image of a working tree has the fingerprint that the
// target's live receipt has. Errors are those of Read.
func Unchanged(ctx context.Context, src Source) (bool, error) {
	r := &reading{Source: src}
	if err := r.target(ctx); err != nil {
		return false, lifecycle.TargetError(err)
	}
	if err := r.workingTree(ctx); err != nil {
		return false, err
	}
	f := r.facts
	if f.Record == nil || len(f.Failed) > 0 || len(f.States) != len(f.Record.Images) {
		return false, nil
	}
	for _, st := range f.States {
		if known := recorded(f.Record, st.Image.Name); known == nil || known.Fingerprint != string(st.Fingerprint) {
			return false, nil
		}
	}
	return true, nil
}
