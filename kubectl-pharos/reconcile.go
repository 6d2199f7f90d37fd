package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type reconcileOptions struct {
	deliveryOptions
	buildOptions
	rev   string
	adopt bool
}

func newReconcile(s *shared) *cobra.Command {
	o := &reconcileOptions{deliveryOptions: deliveryOptions{shared: s}}
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
longer names are listed, never deleted.

A target is prepared, and bound to this repository, by kubectl pharos deploy, which
comes first. One that belongs to another repository, or whose records cannot be read,
is refused unless --adopt says that it is to be delivered to all the same.`,
		Example: `  # Bring the only target to the last commit
  kubectl pharos reconcile

  # What would happen?
  kubectl pharos reconcile --dry-run

  # What would happen, without having the server try the objects?
  kubectl pharos reconcile --dry-run=client

  # With a secret that a Dockerfile mounts
  kubectl pharos reconcile --secret id=npmrc,src=$HOME/.npmrc

  # Another target, another commit, and wait for a delivery that is under way
  kubectl pharos reconcile v1.2.0 --target staging --wait 2m`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeRevision,
		RunE:              atRevision(&o.rev, o.run),
	}
	o.deliveryOptions.add(cmd)
	o.buildOptions.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.adopt, "adopt", false, "Deliver to a target that belongs to another repository, or whose records cannot be read")
	return cmd
}

func (o *reconcileOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	var fields deliveryFields
	res, err := o.reconcile(ctx, &fields)
	return errors.Join(err, o.print(ctx, "Reconciliation", fields, res, err))
}

func (o *reconcileOptions) check() error {
	return errors.Join(o.deliveryOptions.check(), o.buildOptions.check())
}

// hint explains a revision that was meant as the value of --dry-run, which may
// go without one, and so takes none from the next argument.
func (o *reconcileOptions) hint(err error) error {
	meant := slices.Contains([]string{"none", string(lifecycle.DryRunServer), string(lifecycle.DryRunClient)}, o.rev)
	if !meant || o.dryRun != string(lifecycle.DryRunServer) || !errors.Is(err, source.ErrUnknownRevision) {
		return err
	}
	return fmt.Errorf("%w\nIf it is how to try: --dry-run=%s", err, o.rev)
}

// reconcile fills in what is known before the delivery begins.
func (o *reconcileOptions) reconcile(ctx context.Context, f *deliveryFields) (lifecycle.ReconcileResult, error) {
	none := lifecycle.ReconcileResult{}
	repo, commit, err := o.commit(ctx, o.rev)
	if err != nil {
		return none, o.hint(err)
	}
	f.Commit, f.subject = string(commit.ID), commit.Subject
	if o.rev == "" {
		o.warnDirty(ctx, repo, "delivered")()
	}
	t, err := o.targetAt(ctx, commit)
	if err != nil {
		return none, err
	}
	f.Target = t.Name
	if err := o.warnUnheeded(ctx, o.ErrOut, commit); err != nil {
		return none, err
	}
	so, err := o.options(t)
	if err != nil {
		return none, err
	}
	o.given(&so)
	l, err := standard.New(t, so)
	if err != nil {
		return none, err
	}
	holder, err := o.holder(ctx, t, so)
	if err != nil {
		return none, err
	}
	p, stop := o.progress(o.verbose)
	defer stop()
	res, err := l.Reconcile(ctx, lifecycle.ReconcileRequest{
		Commit: commit, Repository: repo, Adopt: o.adopt, Maintenance: holder, Wait: o.wait, Timeout: o.timeout, DryRun: lifecycle.DryRun(o.dryRun),
		Force: o.force, AdoptObjects: o.adoptObjects, CancelBuilds: o.cancel,
		Events: p.event, Output: p.output,
	})
	return res, o.orOurs(err)
}
