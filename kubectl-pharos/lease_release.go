package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type leaseReleaseOptions struct {
	*shared
	output *output
	holder string
}

func newLeaseRelease(s *shared) *cobra.Command {
	o := &leaseReleaseOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "release",
		Short: "Give the target's lease back",
		Long: `Give the target's lease back.

It releases the lease that was acquired in this repository, or the one of --holder;
kubectl pharos lease show -o yaml says the holder's ID. It exits with 1 if that
lease is not held any more.`,
		Example: `  kubectl pharos lease release

  # One that was acquired elsewhere
  kubectl pharos lease release --holder "$(kubectl pharos lease show -o jsonpath={.holder})"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	cmd.Flags().StringVar(&o.holder, "holder", "", "The holder's ID, if the lease was not acquired in this repository")
	return cmd
}

func (o *leaseReleaseOptions) run(ctx context.Context) error {
	if err := o.output.check(); err != nil {
		return err
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	holder := o.holder
	if holder == "" {
		here, err := o.heldHere(ctx, repo, t, so, "there is nothing to release")
		if err != nil {
			return err
		}
		holder = here.Holder
	}
	m, err := standard.NewLease(t, so)
	if err != nil {
		return err
	}
	held, err := m.Resume(ctx, holder)
	if errors.Is(err, lease.ErrLost) {
		return errors.Join(notSo("there is nothing to release: %v", err), forgetHolder(repo, t.Name, holder))
	}
	if err != nil {
		return lifecycle.TargetError(err)
	}
	if held.State().Mode == lease.ModeMaintain {
		linef(o.ErrOut, "warning: nobody looked whether the target is live: kubectl pharos maintenance off does")
	}
	if err := held.Release(ctx); err != nil {
		return lifecycle.TargetError(err)
	}
	if err := forgetHolder(repo, t.Name, holder); err != nil {
		return err
	}
	st, err := m.Inspect(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	return o.printLease(o.output, t.Name, st)
}
