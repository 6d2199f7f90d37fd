package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type leaseShowOptions struct {
	*shared
	output *output
}

func newLeaseShow(s *shared) *cobra.Command {
	o := &leaseShowOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show who holds the target's lease, in which mode and until when",
		Example: `  kubectl pharos lease show

  # For a script
  kubectl pharos lease show -o jsonpath='{.held}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	return cmd
}

func (o *leaseShowOptions) run(ctx context.Context) error {
	if err := o.output.check(); err != nil {
		return err
	}
	_, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	m, err := standard.NewLease(t, so)
	if err != nil {
		return err
	}
	st, err := m.Inspect(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	return o.printLease(o.output, t.Name, st)
}
