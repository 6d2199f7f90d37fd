package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
)

func newMaintenance(s *shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "maintenance",
		Short: "Keep deliveries away until the target is proven live again",
		Long: `Keep deliveries away until the target is proven live again.

A maintenance is the target's lease in mode maintain. It does not end by itself, nor
with the process or the machine that began it: only with maintenance off, which wants
the target healthy and undrifted at exactly the receipt that was applied last. Who
began it delivers under it with reconcile --maintenance and rollback --maintenance.`,
		Example: `  kubectl pharos maintenance on --reason "move the database"

  # Bring the target to a commit meanwhile
  kubectl pharos reconcile --maintenance

  kubectl pharos maintenance off`,
	}
	cmd.AddCommand(newMaintenanceOn(s), newMaintenanceOff(s))
	return group(cmd)
}

type maintenanceFields struct {
	DryRun bool        `json:"dryRun,omitempty"`
	Lease  leaseFields `json:"lease"`
	Wrong  []string    `json:"wrong,omitempty"` // why the target is not live
	failure
}

// printMaintenance writes what became of it. A program gets an answer after a
// failure too.
func (s *shared) printMaintenance(ctx context.Context, out *output, target string, dryRun bool, st lease.State, wrong []string, err error) error {
	if out.human() {
		switch {
		case err != nil:
		case dryRun:
			linef(s.Out, "%s: nothing stands against it", target)
		default:
			linef(s.Out, "%s: %s", target, leaseLine(st))
		}
		return nil
	}
	f := maintenanceFields{DryRun: dryRun, Lease: leaseOf(st), Wrong: wrong, failure: failureOf(ctx, err)}
	obj, err := newObject("Maintenance", target, f)
	if err != nil {
		return err
	}
	return out.print(s.Out, obj)
}

// dryRunFlag adds a flag that only says whether something could be done.
func dryRunFlag(cmd *cobra.Command, into *string) {
	f := cmd.Flags()
	f.StringVar(into, "dry-run", "none", `Must be "none", "server", or "client". Say whether it could be done, and change nothing`)
	f.Lookup("dry-run").NoOptDefVal = "server"
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server", "client"}, cobra.ShellCompDirectiveNoFileComp))
}
