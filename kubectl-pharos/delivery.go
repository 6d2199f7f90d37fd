package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// deliveryOptions are the flags of a command that delivers.
type deliveryOptions struct {
	*shared
	output       *output
	wait         time.Duration
	timeout      time.Duration
	dryRun       string
	force        bool
	adoptObjects bool
	maintained   bool
}

func (o *deliveryOptions) add(cmd *cobra.Command) {
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.DurationVar(&o.wait, "wait", 0, "How long to wait for the lease while somebody else holds it")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long the target may take to become healthy, such as 90s. More than 0")
	f.StringVar(&o.dryRun, "dry-run", "none", `Must be "none", "server", or "client". Say what would be done and why, and change nothing; with server, which --dry-run alone is, the server tries every object`)
	f.Lookup("dry-run").NoOptDefVal = string(lifecycle.DryRunServer)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server", "client"}, cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&o.force, "force-conflicts", false, "Take over fields that another field manager owns")
	f.BoolVar(&o.adoptObjects, "adopt-objects", false, "Take over objects that are on the cluster already and were not delivered to this target")
	f.BoolVar(&o.maintained, "maintenance", false, "Deliver under the maintenance of the target that was begun in this repository")
}

// check refuses flags that could be meant in more than one way, before any work
// is done for them.
func (o *deliveryOptions) check() error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	switch o.dryRun {
	case "none":
		o.dryRun = string(lifecycle.DryRunNone)
	case string(lifecycle.DryRunServer), string(lifecycle.DryRunClient):
	default:
		return usage(fmt.Errorf(`--dry-run is %q, and must be "none", "server", or "client"`, o.dryRun))
	}
	if o.timeout <= 0 {
		return usage(fmt.Errorf("--timeout is %s, and must be more than 0: it is how long the target may take to become healthy", o.timeout))
	}
	if o.wait < 0 {
		return usage(fmt.Errorf("--wait is %s, and must not be less than 0", o.wait))
	}
	return nil
}

// holder is that of the maintenance under which to deliver; empty for none.
func (o *deliveryOptions) holder(ctx context.Context, t standard.Target, so standard.Options) (string, error) {
	if !o.maintained {
		return "", nil
	}
	now, err := o.heldHere(ctx, t, so, "")
	if errors.Is(err, errNotSo) {
		err = notSo("there is no maintenance of target %q that was begun in this repository, to deliver under\nLook at its lease: kubectl pharos lease show", t.Name)
	}
	return now.Holder, err
}

// progress prints events until stop is called.
func (o *deliveryOptions) progress(verbose bool) (p *progress, stop func()) {
	p = &progress{w: o.ErrOut, verbose: verbose}
	ticker := time.NewTicker(alive)
	end := p.keepAlive(ticker.C)
	return p, func() {
		end()
		ticker.Stop()
	}
}
