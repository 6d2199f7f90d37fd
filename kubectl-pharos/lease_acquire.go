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

type leaseAcquireOptions struct {
	*shared
	output  *output
	mode    string
	purpose string
	hold    time.Duration
	wait    time.Duration
}

func newLeaseAcquire(s *shared) *cobra.Command {
	o := &leaseAcquireOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "acquire --purpose TEXT",
		Short: "Take the target's lease, so that nobody delivers",
		Long: `Take the target's lease, so that nobody delivers.

It ends by itself after --for, or with kubectl pharos lease release. In mode
maintain without --for it does not end by itself. The holder's ID is kept in the
repository's Git folder, so that release finds it.`,
		Example: `  # Keep deliveries away for half an hour
  kubectl pharos lease acquire --for 30m --purpose "debugging the checkout"

  # Wait for a delivery that is under way
  kubectl pharos lease acquire --wait 2m --purpose "load test"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.mode, "mode", string(lease.ModeBorrow), "What for: borrow or maintain")
	f.StringVar(&o.purpose, "purpose", "", "Why, for the people who find it held. Required")
	f.DurationVar(&o.hold, "for", 0, "When it ends by itself, such as 30m, in whole seconds. The default is 20 minutes for borrow")
	f.DurationVar(&o.wait, "wait", 0, "How long to wait while somebody else holds it")
	_ = cmd.MarkFlagRequired("purpose")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{string(lease.ModeBorrow), string(lease.ModeMaintain)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *leaseAcquireOptions) run(ctx context.Context) error {
	if err := o.output.check(); err != nil {
		return err
	}
	mode := lease.Mode(o.mode)
	if mode != lease.ModeBorrow && mode != lease.ModeMaintain {
		return fmt.Errorf("--mode is %q, and must be borrow or maintain: deliver is for deliveries", o.mode)
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	cluster, err := standard.NewCluster(so.REST, t.Namespace)
	if err != nil {
		return err
	}
	if err := cluster.Prepare(ctx); err != nil {
		return lifecycle.TargetError(err)
	}
	m, err := standard.NewLease(t, so)
	if err != nil {
		return err
	}
	now, err := m.Inspect(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	r := lease.Request{Mode: mode, Holder: lease.NewHolder(), User: so.Actor, Purpose: o.purpose, For: o.hold, Wait: o.wait}
	if err := keepHolder(repo, t.Name, r.Holder, now); err != nil {
		return err
	}
	held, err := m.Acquire(ctx, r)
	switch {
	case errors.Is(err, lease.ErrHeld), errors.Is(err, lease.ErrInvalid):
		return errors.Join(leaseError(repo, err), forgetHolder(repo, t.Name, r.Holder))
	case err != nil:
		return leaseError(repo, err)
	}
	return o.printLease(o.output, t.Name, held.State())
}
