package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type maintenanceOffOptions struct {
	*shared
	output  *output
	holder  string
	timeout time.Duration
	force   bool
	dryRun  string
}

func newMaintenanceOff(s *shared) *cobra.Command {
	o := &maintenanceOffOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "off",
		Short: "End the maintenance if the target is live",
		Long: `End the maintenance if the target is live: every object healthy and undrifted at
exactly the receipt that was applied last. Otherwise it stays, and what is wrong is
said; the exit code is 6. --force ends it all the same.

It ends the one that was begun in this repository, or that of --holder.`,
		Example: `  kubectl pharos maintenance off

  # Give the target three minutes to become healthy
  kubectl pharos maintenance off --timeout 3m

  # One that was begun elsewhere
  kubectl pharos maintenance off --holder "$(kubectl pharos lease show -o jsonpath={.holder})"

  # Whatever the target looks like
  kubectl pharos maintenance off --force`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.holder, "holder", "", "The holder's ID, if the maintenance was not begun in this repository")
	f.DurationVar(&o.timeout, "timeout", 0, "How long the target may take to become healthy, such as 90s. The default is to look once")
	f.BoolVar(&o.force, "force", false, "End it whatever the target looks like")
	dryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (o *maintenanceOffOptions) run(ctx context.Context) error {
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(o.output.check(), err); err != nil {
		return err
	}
	_, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	holder := o.holder
	if holder == "" {
		here, err := o.heldHere(ctx, t, so, "there is nothing to end")
		if err != nil {
			return errors.Join(err, o.printMaintenance(ctx, o.output, t.Name, dryRun, lease.State{}, nil, err))
		}
		holder = here.Holder
	}
	l, err := standard.New(t, so)
	if err != nil {
		return err
	}
	st, err := l.EndMaintenance(ctx, lifecycle.EndMaintenanceRequest{Holder: holder, Timeout: o.timeout, Force: o.force, DryRun: dryRun})
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		err = notSo("there is nothing to end: %v", err)
		if !dryRun && lost.State.Holder != holder {
			err = errors.Join(err, o.forgetHolder(t.Name, holder))
		}
		return errors.Join(err, o.printMaintenance(ctx, o.output, t.Name, dryRun, lost.State, nil, err))
	}
	var wrong []string
	if notLive, ok := errors.AsType[*lifecycle.NotLiveError](err); ok {
		wrong = notLive.Wrong
	}
	now := st.Lease
	if err == nil && !dryRun {
		if !st.IsLive() {
			linef(o.ErrOut, "warning: the target is not live, and anybody may deliver to it now: kubectl pharos status")
		}
		if err := o.forgetHolder(t.Name, holder); err != nil {
			return err
		}
		if now, err = l.Lease.Inspect(ctx); err != nil {
			return lifecycle.TargetError(err)
		}
	}
	return errors.Join(err, o.printMaintenance(ctx, o.output, t.Name, dryRun, now, wrong, err))
}
