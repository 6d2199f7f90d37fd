package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// deliveryFields are what a command that delivers prints for programs.
type deliveryFields struct {
	subject  string
	foreseen []lifecycle.Change     // of the preparation
	Target   string                 `json:"target,omitempty"`
	Commit   string                 `json:"commit,omitempty"`
	DryRun   bool                   `json:"dryRun,omitempty"`
	Plan     *lifecycle.Plan        `json:"plan,omitempty"`
	Receipt  receipt.ID             `json:"receipt,omitempty"`
	Changes  []lifecycle.Change     `json:"changes,omitempty"`
	Orphans  []receipt.Object       `json:"orphans,omitempty"`
	Dropped  []receipt.ID           `json:"dropped,omitempty"` // receipts that are kept no longer
	Steps    []lifecycle.StepResult `json:"steps,omitempty"`   // of the preparation
	Findings []lifecycle.Finding    `json:"findings,omitempty"`
	Seconds  float64                `json:"seconds"`
	failure
}

// nothing is what was written beside the preparation.
func (f deliveryFields) nothing() string {
	if !f.DryRun && slices.ContainsFunc(f.Steps, func(s lifecycle.StepResult) bool { return s.Written() > 0 }) {
		return "nothing but the preparation"
	}
	return "nothing"
}

// print writes what became of it. A program gets an answer after a failure too.
func (o *deliveryOptions) print(ctx context.Context, kind string, f deliveryFields, res lifecycle.ReconcileResult, err error) error {
	f.DryRun = o.dryRun != ""
	if o.output.human() {
		o.printHuman(f, res, err)
		return nil
	}
	f.Receipt, f.Changes, f.Orphans, f.Dropped, f.Findings = res.Receipt, res.Changes, res.Orphans, res.Dropped, slices.Concat(res.Findings, res.Noticed, res.Untried)
	f.Seconds = res.Took.Seconds()
	if res.Plan.Decision != "" {
		f.Plan = &res.Plan
	}
	f.failure = failureOf(ctx, err)
	obj, err := newObject(kind, cmp.Or(res.Operation, f.Target), f)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *deliveryOptions) printHuman(f deliveryFields, res lifecycle.ReconcileResult, err error) {
	for _, orphan := range res.Orphans {
		linef(o.ErrOut, "orphan: %s was delivered once and is not in this commit; nobody deletes it for you", lifecycle.ObjectName(orphan))
	}
	if n := len(res.Dropped); n > 0 {
		linef(o.ErrOut, "dropped %d old receipts, more than spec.receipts.keep of the target", n)
	}
	for _, f := range slices.Concat(res.Noticed, res.Untried) {
		linef(o.ErrOut, "warning: %s: %s", f.Subject, f.Message)
	}
	if o.dryRun != "" {
		o.printForeseen(append(f.foreseen, res.Changes...))
	}
	what := fmt.Sprintf("%s %q", shortID(f.Commit), f.subject)
	switch {
	case err != nil || res.Plan.Decision == "":
	case res.Plan.Decision == lifecycle.DecideUnchanged:
		linef(o.Out, "%s: unchanged at %s (receipt %s), %s was written, in %s", f.Target, what, res.Receipt.Short(), f.nothing(), seconds(res.Took))
	case o.dryRun != "" && res.Plan.RollbackOf != "":
		linef(o.Out, "%s: would roll back to %s (receipt %s)", f.Target, what, res.Plan.RollbackOf.Short())
	case o.dryRun != "":
		linef(o.Out, "%s: would %s %s", f.Target, res.Plan.Decision, what)
	case res.Plan.RollbackOf != "":
		linef(o.Out, "%s: rolled back, live at %s (receipt %s, which is %s once more) in %s", f.Target, what, res.Receipt.Short(), res.Plan.RollbackOf.Short(), seconds(res.Took))
	default:
		linef(o.Out, "%s: live at %s (receipt %s) in %s", f.Target, what, res.Receipt.Short(), seconds(res.Took))
	}
}

// printForeseen says what a dry run found would become of the objects, of those
// to which something would happen.
func (o *deliveryOptions) printForeseen(changes []lifecycle.Change) {
	verbs := map[lifecycle.ChangeType]string{lifecycle.ChangeCreated: "create", lifecycle.ChangeConfigured: "configure", lifecycle.ChangeConflict: "conflict with"}
	var lines []string
	for _, c := range changes {
		if verb := verbs[c.Type]; verb != "" {
			line := fmt.Sprintf("would %s %s", verb, lifecycle.ObjectName(c.Object))
			if c.Provisional {
				line += ", by another name once its images are built"
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		linef(o.Out, "%s", line)
	}
}
