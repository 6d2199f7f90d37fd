package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

type reconcileOptions struct {
	*shared
	output  *output
	rev     string
	wait    time.Duration
	timeout time.Duration
	dryRun  bool
	force   bool
	verbose bool
}

func newReconcile(s *shared) *cobra.Command {
	o := &reconcileOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "reconcile [REV]",
		Short: "Bring the target to a commit, and prove that it is live",
		Long: `Bring the target to a commit, and prove that it is live.

Only images whose declared inputs changed are built. What is delivered is recorded
in a receipt, names every image by digest, and is applied under the target's
lease. The command ends when every object is healthy at its newest generation, or
with the reason why one is not. If there is nothing to do it says why, and writes
nothing.

It may be interrupted at any moment: run it again. Only the commit counts, never
the working tree. Objects that an earlier receipt delivered and this commit no
longer names are listed, never deleted.`,
		Example: `  # Bring the only target to the last commit
  kubectl pharos reconcile

  # What would happen?
  kubectl pharos reconcile --dry-run

  # Another target, another commit, and wait for a delivery that is under way
  kubectl pharos reconcile v1.2.0 --target staging --wait 2m`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.rev = args[0]
			}
			return o.run(cmd.Context())
		},
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.DurationVar(&o.wait, "wait", 0, "How long to wait for the lease while somebody else holds it")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long the target may take to become healthy")
	f.BoolVar(&o.dryRun, "dry-run", false, "Say what would be done and why, and change nothing")
	f.BoolVar(&o.force, "force-conflicts", false, "Take over fields that another field manager owns")
	f.BoolVar(&o.verbose, "build-output", false, "Show what the build tools print")
	return cmd
}

func (o *reconcileOptions) run(ctx context.Context) error {
	if err := o.output.check(); err != nil {
		return err
	}
	repo, commit, err := o.commit(ctx, o.rev)
	if err != nil {
		return err
	}
	t, err := o.targetAt(ctx, commit)
	if err != nil {
		return err
	}
	so, err := o.options(t)
	if err != nil {
		return err
	}
	l, err := standard.New(t, so)
	if err != nil {
		return err
	}
	o.warnDirty(ctx, repo)
	p := &progress{w: o.ErrOut, verbose: o.verbose}
	res, err := l.Reconcile(ctx, lifecycle.ReconcileRequest{
		Commit: commit, Wait: o.wait, Timeout: o.timeout, DryRun: o.dryRun, Force: o.force, Events: p.event, Output: p.output,
	})
	if printErr := o.print(commit, t, res, err); printErr != nil {
		return errors.Join(err, printErr)
	}
	return err
}

// warnDirty says that edits which are not committed stay at home.
func (o *reconcileOptions) warnDirty(ctx context.Context, repo *source.Repository) {
	paths, err := repo.Dirty(ctx)
	if err != nil || len(paths) == 0 {
		return // it is only a courtesy
	}
	more := ""
	if len(paths) > 3 {
		paths, more = paths[:3], fmt.Sprintf(" and %d more", len(paths)-3)
	}
	linef(o.ErrOut, "warning: only the commit is delivered, not what the working tree changed: %s%s", strings.Join(paths, ", "), more)
}

type reconcileFields struct {
	Target   string              `json:"target"`
	Commit   string              `json:"commit"`
	DryRun   bool                `json:"dryRun,omitempty"`
	Plan     lifecycle.Plan      `json:"plan"`
	Receipt  receipt.ID          `json:"receipt,omitempty"`
	Changes  []lifecycle.Change  `json:"changes,omitempty"`
	Orphans  []receipt.Object    `json:"orphans,omitempty"`
	Findings []lifecycle.Finding `json:"findings,omitempty"`
	Seconds  float64             `json:"seconds"`
	Error    string              `json:"error,omitempty"`
}

func (o *reconcileOptions) print(commit source.Commit, t standard.Target, res lifecycle.ReconcileResult, err error) error {
	if o.output.human() {
		o.printHuman(commit, t, res, err)
		return nil
	}
	fields := reconcileFields{
		Target: t.Name, Commit: string(commit.ID), DryRun: o.dryRun, Plan: res.Plan, Receipt: res.Receipt, Changes: res.Changes,
		Orphans: res.Orphans, Findings: res.Findings, Seconds: res.Took.Seconds(),
	}
	if err != nil {
		fields.Error = err.Error()
	}
	obj, err := newObject("Reconciliation", res.Operation, fields)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *reconcileOptions) printHuman(commit source.Commit, t standard.Target, res lifecycle.ReconcileResult, err error) {
	for _, f := range res.Findings {
		linef(o.ErrOut, "warning: %s: %s", f.Subject, f.Message)
	}
	for _, orphan := range res.Orphans {
		linef(o.ErrOut, "orphan: %s was delivered once and is not in this commit; nobody deletes it for you", lifecycle.ObjectName(orphan))
	}
	what := fmt.Sprintf("%s %q", shortID(string(commit.ID)), commit.Subject)
	switch {
	case err != nil || res.Plan.Decision == "":
	case res.Plan.Decision == lifecycle.DecideUnchanged:
		linef(o.Out, "%s: unchanged at %s (receipt %s), nothing was written, in %s", t.Name, what, res.Receipt.Short(), seconds(res.Took))
	case o.dryRun:
		linef(o.Out, "%s: would %s %s", t.Name, res.Plan.Decision, what)
	default:
		linef(o.Out, "%s: live at %s (receipt %s) in %s", t.Name, what, res.Receipt.Short(), seconds(res.Took))
	}
}
