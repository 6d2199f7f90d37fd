package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

type inventoryOptions struct {
	*shared
	output        *output
	namespaces    []string
	allNamespaces bool
	exclude       []string
	tiers         []string
	maxTTL        duration
	record        bool
}

func newInventory(s *shared) *cobra.Command {
	o := &inventoryOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "inventory",
		Short: "Show everything on the target: declared, transient, and durable without a declaration",
		Long: `Show everything on the target, and what of it is not as it should be.

Everything is told apart first, and then compared:

  declared   the objects of the applied receipt: found, missing or drifted, and
             the orphans of earlier receipts
  transient  what says that it ends: how many, how old, and whether there are
             ever more; it never drifts
  durable    volumes, snapshots, StatefulSets, databases and other custom
             resources that nobody declares: whose they are, and how large

It looks into the target's namespace and those of the receipt's objects, and without a
target into the context's. What cannot be read is listed. Nothing is written, unless
with --record.

The exit code is 1 if there are findings. With -o name each finding's object is
printed.`,
		Example: `  kubectl pharos inventory

  # The whole cluster, and why each finding is one
  kubectl pharos inventory -A -o wide

  # Volumes that nobody can be asked about
  kubectl pharos inventory -o jsonpath='{range .findings[?(@.problem=="NoOwner")]}{.object.namespace}/{.object.name}{"\n"}{end}'

  # Keep what was counted, so that the next ones know a trend
  kubectl pharos inventory --record

  # Whose is it?
  kubectl pharos inventory own pvc/data --owner ann@example.org`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "Look only into these namespaces")
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Look into all namespaces, and at custom resources that have none")
	f.StringSliceVar(&o.exclude, "exclude", nil, "Resources not to look at, such as ciliumidentities.cilium.io")
	f.StringSliceVar(&o.tiers, "tier", nil, "Tiers, and how long what is transient may be there in them after its last activity, such as agents=36h")
	f.Var(&o.maxTTL, "max-ttl", "How long it may be there if it is of no such tier, such as 7d. The default is for as long as it says")
	f.BoolVar(&o.record, "record", false, "Keep what was counted in a ConfigMap of the target's namespace, for trends")
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
	for _, name := range []string{"exclude", "tier", "max-ttl"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	cmd.AddCommand(newInventoryOwn(s))
	return cmd
}

func (o *inventoryOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	if o.allNamespaces && len(o.namespaces) > 0 {
		return usage(errors.New("--all-namespaces looks into all: leave --namespace out"))
	}
	tiers, err := tiersOf(o.tiers)
	if err != nil {
		return err
	}
	t, err := o.targetHere(ctx)
	if err != nil {
		return err
	}
	if o.record && t.Name == "" {
		return usage(errors.New("--record keeps what was counted in the namespace of a target, and there is none here"))
	}
	so, err := o.options(t)
	if err != nil {
		return err
	}
	r := standard.InventoryRequest{Namespaces: o.namespaces, AllNamespaces: o.allNamespaces, Config: inventory.Config{Exclude: o.exclude}}
	if t.Name == "" && !o.allNamespaces && len(o.namespaces) == 0 {
		namespace, err := o.namespaceOf("")
		if err != nil {
			return err
		}
		r.Namespaces = []string{namespace}
	}
	r.Config.MaxTTL, r.Config.Tiers = time.Duration(o.maxTTL), tiers
	if err := o.wantNamespaces(ctx, so.REST, r.Namespaces); err != nil {
		return err
	}
	report, err := standard.Inventory(ctx, t, so, r)
	if err != nil {
		return err
	}
	if err := o.print(t.Name, report, takenFrom(ctx, t, so)); err != nil {
		return err
	}
	if o.record {
		samples, err := standard.NewInventorySamples(t, so)
		if err == nil {
			err = samples.Add(ctx, report.Sample())
		}
		if err != nil {
			linef(o.ErrOut, "warning: %v", fmt.Errorf("what was counted is not kept: %w", err))
		}
	}
	if len(report.Findings) > 0 {
		return errNotSo
	}
	return nil
}

// takenFrom is the takeover of a target, as far as that may be read: the inventory is not
// about it, and what it changes is drift there.
func takenFrom(ctx context.Context, t standard.Target, so standard.Options) *takeoverFields {
	if t.Name == "" {
		return nil
	}
	m, err := standard.NewLease(t, so)
	if err != nil {
		return nil
	}
	l, err := m.Inspect(ctx)
	if err != nil {
		return nil // the coverage says so
	}
	return takeoverOn(ctx, t, so, l)
}

// tiersOf reads tiers NAME=DURATION.
func tiersOf(args []string) ([]reaper.Tier, error) {
	var tiers []reaper.Tier
	for _, arg := range args {
		name, longest, ok := strings.Cut(arg, "=")
		d, err := reaper.ParseDuration(longest)
		if !ok || name == "" {
			err = fmt.Errorf("%q is not NAME=DURATION, such as agents=36h", arg)
		}
		if err != nil {
			return nil, usage(fmt.Errorf("--tier: %w", err))
		}
		tiers = append(tiers, reaper.Tier{Name: name, MaxTTL: d})
	}
	return tiers, nil
}
