package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
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
		Short: "Show who holds the target's lease, what it covers and until when",
		Long: `Show who holds the target's lease, what it covers and until when, which workloads a
takeover has it for, whether what keeps Argo CD away stands, what earlier leases left
over, and who broke a lease last.`,
		Example: `  kubectl pharos lease show

  # With the holder's ID and the fencing token
  kubectl pharos lease show -o wide

  # For a script
  kubectl pharos lease show -o jsonpath='{.held}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	return cmd
}

func (o *leaseShowOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
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
	st, gate, gateErr := m.Look(ctx)
	if st.Now.IsZero() { // it was not read
		return lifecycle.TargetError(gateErr)
	}
	taken := takeoverOn(ctx, t, so, st)
	if !o.output.human() {
		obj, err := newObject("Lease", t.Name, struct {
			leaseFields
			Takeover *takeoverFields `json:"takeover,omitempty"`
		}{leaseAndGate(st, gate, gateErr), taken})
		if err != nil {
			return err
		}
		return o.output.print(o.Out, obj)
	}
	linef(o.Out, "%s: %s", t.Name, leaseLine(st))
	for _, line := range leaseDetails(st, gate, gateErr) {
		linef(o.Out, "  %s", line)
	}
	for i, line := range taken.lines() {
		if i == 0 {
			line = "takeover " + line
		}
		linef(o.Out, "  %s", line)
	}
	if line := brokenLine(st); line != "" && !st.WasBroken() {
		linef(o.Out, "  %s", line)
	}
	if o.output.format() == "wide" && st.Held {
		o.printWide(st)
	}
	return nil
}

func (o *leaseShowOptions) printWide(s lease.State) {
	linef(o.Out, "  holder %s, fencing token %d", s.Holder, s.Token)
	linef(o.Out, "  acquired at %s, renewed at %s", s.Acquired.Format(time.RFC3339), s.Renewed.Format(time.RFC3339))
}
