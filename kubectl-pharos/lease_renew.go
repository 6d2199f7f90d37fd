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

type leaseRenewOptions struct {
	*shared
	output *output
	holder string
	hold   time.Duration
}

func newLeaseRenew(s *shared) *cobra.Command {
	o := &leaseRenewOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Move the end of the lease ahead",
		Long: `Move the end of the lease ahead, to --for from now, and never back; at most 12 hours
after it was acquired. It looks, too, whether what keeps Argo CD away still stands: if
somebody opened it, the lease is lost, and the exit code is 5. A lease that has ended
is not renewed: it has to be acquired again.

It renews the lease that was acquired in this repository, or the one of --holder.`,
		Example: `  # For 20 minutes more, from now
  kubectl pharos lease renew

  # For the afternoon
  kubectl pharos lease renew --for 4h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.DurationVar(&o.hold, "for", 0, "How far from now it is to end, such as 2h, in whole seconds. The default is 20 minutes for borrow")
	f.StringVar(&o.holder, "holder", "", "The holder's ID, if the lease was not acquired in this repository")
	return cmd
}

func (o *leaseRenewOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	_, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	holder := o.holder
	if holder == "" {
		here, err := o.heldHere(ctx, t, so, "there is nothing to renew")
		if err != nil {
			return errors.Join(err, o.printAnswer(ctx, o.output, t.Name, leaseAnswer{leaseFields: leaseOf(here)}, "", err))
		}
		holder = here.Holder
	}
	m, err := standard.NewLease(t, so)
	if err != nil {
		return err
	}
	now, err := o.renew(ctx, m, holder)
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		now = lost.State
		err = &lifecycle.BlockedError{Reason: lost.Error(), Next: "Acquire it again: kubectl pharos lease acquire --purpose TEXT", Err: lost}
		if errors.Is(lost, lease.ErrOpened) {
			err = &lifecycle.BlockedError{Reason: lost.Error(), Next: "Hand it back, and acquire it again: kubectl pharos lease release", Err: lost}
		}
	}
	if err == nil && o.hold > 0 && left(now) < o.hold-time.Second {
		linef(o.ErrOut, "warning: it ends sooner than that, 12 hours after it was acquired")
	}
	return errors.Join(err, o.printAnswer(ctx, o.output, t.Name, leaseAnswer{leaseFields: leaseOf(now)}, leaseLine(now), err))
}

func (o *leaseRenewOptions) renew(ctx context.Context, m *lease.Manager, holder string) (lease.State, error) {
	held, err := m.Resume(ctx, holder)
	if err != nil {
		return lease.State{}, lifecycle.TargetError(err)
	}
	if o.hold != 0 {
		err = held.RenewFor(ctx, o.hold)
	} else {
		err = held.Renew(ctx)
	}
	return held.State(), lifecycle.TargetError(err)
}
