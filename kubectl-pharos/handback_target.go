package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// byForce hands back what the target itself knows of, and waits until the target is what
// was delivered last.
func (o *handbackOptions) byForce(ctx context.Context, a *handbackAnswer) (string, error) {
	_, t, so, err := o.open(ctx)
	if err != nil {
		return "", err
	}
	l, err := standard.New(t, so)
	if err != nil {
		return t.Name, err
	}
	report, err := o.restore(ctx, t, so, a)
	for _, w := range report.Workloads {
		linef(o.ErrOut, "%s: %s", w.Subject, restoredLine(takeover.Event{Outcome: string(w.Outcome), Kept: keptFields(w)}))
	}
	if report.Aside != "" {
		a.Aside = append(a.Aside, "Secret "+t.Namespace+"/"+report.Aside)
	}
	if report.Left != "" {
		linef(o.ErrOut, "%s", report.Left)
	}
	if err != nil && !errors.Is(err, journal.ErrNone) {
		return t.Name, err
	}
	kept := o.setAside(a)
	switch {
	case errors.Is(kept, takeover.ErrRunning):
		// It ends when it hears that it has lost the target, and keeps nobody from waiting.
	case kept != nil:
		return t.Name, kept
	case errors.Is(err, journal.ErrNone) && len(a.Aside) == 0:
		return t.Name, notSo("there is nothing to hand back: nobody has taken target %q over", t.Name)
	}
	_, err = handBack{shared: o.shared, lifecycle: l, timeout: o.timeout}.do(ctx, l.AwaitReturn)
	if kept != nil {
		kept = o.setAside(a)
	}
	if errors.Is(kept, takeover.ErrRunning) {
		linef(o.ErrOut, "warning: what this checkout has written down of a takeover cannot be read, and its process has not ended yet. Run this again once it has, so that it is kept under another name")
		kept = nil
	}
	return t.Name, errors.Join(err, kept)
}

// setAside keeps a journal of this checkout that cannot be read under another name.
func (o *handbackOptions) setAside(a *handbackAnswer) error {
	folder, err := o.takeoverFolder()
	if err != nil {
		return nil // this is no checkout of the target's
	}
	aside, err := takeover.SetAside(folder)
	if err != nil || aside == "" {
		return err
	}
	a.Aside = append(a.Aside, aside)
	linef(o.ErrOut, "what this checkout has written down of a takeover could not be read, and is kept in %s", aside)
	return nil
}

// preview says what would be put back: what the target has written down, for this
// checkout's takeover or, with force, whosever.
func (o *handbackOptions) preview(ctx context.Context, a *handbackAnswer) (string, error) {
	a.DryRun = true
	if !o.force {
		folder, err := o.takeoverFolder()
		if err != nil {
			return "", err
		}
		doc, err := takeover.Left(folder)
		if errors.Is(err, journal.ErrNone) {
			return "", notSo("there is nothing to hand back: this checkout has taken nothing over\nWhat others have: kubectl pharos handback --dry-run --force")
		}
		if err != nil {
			return "", err
		}
		if o.target == "" {
			o.target = doc.Target
		}
	}
	_, t, so, err := o.open(ctx)
	if err != nil {
		return "", err
	}
	report, err := o.restore(ctx, t, so, a)
	if o.output.human() {
		o.printPreview(t, *a, report.Lease)
	}
	if errors.Is(err, journal.ErrNone) {
		err = nil
		if !report.Lease.Held {
			err = notSo("there is nothing to hand back: nobody has taken target %q over", t.Name)
		}
	}
	return t.Name, err
}

// printPreview says what would be put back, for people.
func (o *handbackOptions) printPreview(t standard.Target, a handbackAnswer, s lease.State) {
	for _, w := range a.Workloads {
		would := restoredWould[w.Outcome]
		if len(w.Restored) > 0 {
			would += ": " + strings.Join(w.Restored, ", ")
		}
		if len(w.Kept) > 0 {
			would += "; somebody else has changed, and keeps: " + strings.Join(w.Kept, ", ")
		}
		linef(o.Out, "%s: %s", w.Workload, would)
	}
	if s.Held && s.Mode == lease.ModeBorrow {
		does := "would be released"
		if o.force {
			does = "would be taken away from them"
		}
		linef(o.Out, "the lease of target %s, which %s has until %s, %s", t.Name, s.Who(), instant(s.Expires), does)
	}
}

// restoredWould is what would become of a workload, by its outcome.
var restoredWould = map[string]string{
	"restored": "would be put back", "whole": "is as it was", "gone": "is not there any more, and would be left so",
	"replaced": "runs something else by now, and would be left so",
}

// restore puts back what the target has written down, or looks what that would be.
func (o *handbackOptions) restore(ctx context.Context, t standard.Target, so standard.Options, a *handbackAnswer) (restore.Report, error) {
	r, err := standard.NewRestorer(t, so)
	if err != nil {
		return restore.Report{}, err
	}
	report, err := r.Restore(ctx, restore.Request{Reason: o.reason, Force: true, DryRun: o.dryRun})
	a.Session, a.User = report.Session, report.User
	for _, w := range report.Workloads {
		name := w.Namespace + "/" + w.Name
		if len(o.names) == 0 || slices.ContainsFunc(o.names, func(n string) bool { return n == name || n == w.Name || n == "deploy/"+w.Name }) {
			a.Workloads = append(a.Workloads, handbackedWorkload{Workload: w.Subject.String(), Outcome: string(w.Outcome), Restored: w.Restored, Kept: keptFields(w)})
		}
	}
	switch {
	case errors.Is(err, journal.ErrDamaged):
		return report, &lifecycle.BlockedError{Reason: err.Error(), Next: "Without --dry-run it is kept as a copy", Err: err}
	case errors.Is(err, lease.ErrHeld):
		return report, &lifecycle.BlockedError{Reason: err.Error(), Next: "Look at who has it with: kubectl pharos lease show", Err: err}
	}
	if err = lifecycle.TargetError(err); errors.Is(err, lifecycle.ErrUnreachable) {
		err = fmt.Errorf("hand back target %q: %w", t.Name, err)
	}
	return report, err
}

func keptFields(w restore.Workload) (fields []string) {
	for _, k := range w.Kept {
		fields = append(fields, k.Field)
	}
	return fields
}
