package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type maintenanceOnOptions struct {
	*shared
	output *output
	reason string
	wait   time.Duration
	dryRun string
}

func newMaintenanceOn(s *shared) *cobra.Command {
	o := &maintenanceOnOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "on --reason TEXT",
		Short: "Begin a maintenance, so that nobody delivers",
		Long: `Begin a maintenance, so that nobody delivers.

The holder's ID is kept in the repository's Git folder before the lease is taken, so
that it is found again whatever happens to this process. Doing it again in the same
repository changes nothing: the reason stays the first one.`,
		Example: `  kubectl pharos maintenance on --reason "move the database"

  # Wait for a delivery that is under way
  kubectl pharos maintenance on --reason "move the database" --wait 2m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.reason, "reason", "", "Why, for the people who find the target held. Required")
	f.DurationVar(&o.wait, "wait", 0, "How long to wait while somebody else holds the lease")
	dryRunFlag(cmd, &o.dryRun)
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

func (o *maintenanceOnOptions) run(ctx context.Context) error {
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(o.output.check(), err); err != nil {
		return err
	}
	_, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	l, err := standard.New(t, so)
	if err != nil {
		return err
	}
	st, err := o.begin(ctx, l, dryRun)
	if err == nil && st.Held && st.Purpose != o.reason {
		linef(o.ErrOut, "warning: the maintenance is on already, and its reason stays %q; to give it another one, end it and begin again", st.Purpose)
	}
	return errors.Join(err, o.printMaintenance(ctx, o.output, t.Name, dryRun, st, nil, err))
}

// begin keeps the holder's ID before it acquires the lease.
func (o *maintenanceOnOptions) begin(ctx context.Context, l *lifecycle.Lifecycle, dryRun bool) (lease.State, error) {
	r := lifecycle.MaintenanceRequest{Holder: lease.NewHolder(), Reason: o.reason, Wait: o.wait, DryRun: dryRun}
	now, err := l.Lease.Inspect(ctx)
	if err != nil {
		return now, lifecycle.TargetError(err)
	}
	ours := now.Held && o.keptHere(l.Target, now.Holder)
	switch {
	case ours && now.Mode == lease.ModeMaintain:
		r.Holder = now.Holder
	case ours:
		r.Wait = 0 // for ourselves
	case !dryRun:
		if err := o.keepHolder(l.Target, r.Holder, now); err != nil {
			return now, err
		}
	}
	st, err := l.StartMaintenance(ctx, r)
	err = o.orOurs(err)
	if err != nil && errors.Is(err, lifecycle.ErrBlocked) && !dryRun {
		return st, errors.Join(err, o.forgetHolder(l.Target, r.Holder))
	}
	// After another error it may be held all the same, if the answer was lost: what
	// is kept ends it.
	return st, err
}

// checkDryRun says whether a flag of dryRunFlag asks for one.
func checkDryRun(value string) (bool, error) {
	switch value {
	case "none":
		return false, nil
	case "server", "client":
		return true, nil
	}
	return false, fmt.Errorf(`--dry-run is %q, and must be "none", "server", or "client"`, value)
}
