package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

type rollbackOptions struct {
	deliveryOptions
	name string
}

func newRollback(s *shared) *cobra.Command {
	o := &rollbackOptions{deliveryOptions: deliveryOptions{shared: s}}
	cmd := &cobra.Command{
		Use:   "rollback [RECEIPT]",
		Short: "Deliver once more what was live before",
		Long: `Deliver once more what was live before.

After a delivery that did not become live, that is the live receipt; else it is the
nearest one before it that was live. Each further rollback goes back further.
RECEIPT names another one: its ID, or its first digits.

What is delivered is a new receipt that says which one it repeats. Nothing is built:
the images have to be in the registry still, and the receipt's commit in this
repository, from which the manifests are rendered. They have to come to the same
objects as then. A reconcile of the commit that was rolled back from delivers that
one again.`,
		Example: `  # Back to what was live before
  kubectl pharos rollback

  # What would happen?
  kubectl pharos rollback --dry-run

  # To a certain one
  kubectl pharos receipts list
  kubectl pharos rollback 3f2a9c`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeRollback,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			return o.run(cmd.Context())
		},
	}
	o.deliveryOptions.add(cmd)
	return cmd
}

func (o *rollbackOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	var fields deliveryFields
	res, err := o.rollback(ctx, &fields)
	return errors.Join(err, o.print(ctx, "Rollback", fields, res, err))
}

// rollback fills in what is known before the delivery begins.
func (o *rollbackOptions) rollback(ctx context.Context, f *deliveryFields) (lifecycle.ReconcileResult, error) {
	none := lifecycle.ReconcileResult{}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return none, err
	}
	f.Target = t.Name
	holder, err := o.holder(ctx, t, so)
	if err != nil {
		return none, err
	}
	id, err := o.find(ctx, t, so)
	if err != nil {
		return none, err
	}
	l, err := standard.New(t, so)
	if err != nil {
		return none, err
	}
	to, err := l.ChooseRollback(ctx, id)
	if err != nil {
		return none, err
	}
	f.Commit = to.Record.Commit
	if commit, err := repo.Commit(ctx, to.Record.Commit); err == nil {
		f.subject = commit.Subject
		if l, err = o.asThen(ctx, commit, t, l); err != nil {
			return none, err
		}
	}
	p, stop := o.progress(false)
	defer stop()
	res, err := l.Rollback(ctx, lifecycle.RollbackRequest{
		Receipt: to.ID, Repository: repo, Maintenance: holder, Wait: o.wait, Timeout: o.timeout, DryRun: lifecycle.DryRun(o.dryRun),
		Force: o.force, AdoptObjects: o.adoptObjects, Events: p.event,
	})
	return res, o.orOurs(err)
}

// find resolves what was named; empty if nothing was.
func (o *rollbackOptions) find(ctx context.Context, t standard.Target, so standard.Options) (receipt.ID, error) {
	if o.name == "" {
		return "", nil
	}
	store, err := standard.NewReceipts(t, so)
	if err != nil {
		return "", err
	}
	return findReceipt(ctx, store, o.name)
}

// asThen returns the target as the receipt's commit says it: overlays and
// registries move. A commit that has no target of that name is delivered as HEAD
// says.
func (o *rollbackOptions) asThen(ctx context.Context, commit source.Commit, now standard.Target, l *lifecycle.Lifecycle) (*lifecycle.Lifecycle, error) {
	targets, err := standard.ReadTargets(ctx, commit.Tree)
	if err != nil {
		return nil, err
	}
	then, err := standard.SelectTarget(targets, now.Name)
	if err != nil {
		return l, nil
	}
	return o.lifecycle(then)
}
