package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

type leaseBreakOptions struct {
	*shared
	output *output
	reason string
	holder string
	dryRun string
}

func newLeaseBreak(s *shared) *cobra.Command {
	o := &leaseBreakOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "break --reason TEXT",
		Short: "Take the lease away from who has it",
		Long: `Take the lease away from who has it, whoever that is and in whatever mode.

Its holder finds out at the next renewal, or before the next write: it stops there, and
is told who did so, when and why. A delivery so ends in the middle, and the next one
finishes it. What kept Argo CD away is opened, and what was changed meanwhile goes back
to what was delivered last. What was taken over stays diverted until the controller or
Argo CD puts it back, or kubectl pharos handback --force. Who broke a lease and why stands in kubectl pharos lease
show. It exits with 1 if nobody has the lease.`,
		Example: `  kubectl pharos lease break --reason "a hotfix has to go out, and ann is on holiday"

  # Only if it is still that holder's
  kubectl pharos lease break --holder HDVQ2QDA2PTBYYUKFMQZLX3Q5D --reason "its machine is gone"

  # Whose would it be?
  kubectl pharos lease break --reason "a hotfix" --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.reason, "reason", "", "Why, for who has it. Required")
	f.StringVar(&o.holder, "holder", "", "Only if this ID is the holder's. The default is whoever has it")
	dryRunFlag(cmd, &o.dryRun)
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

func (o *leaseBreakOptions) run(ctx context.Context) error {
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(o.output.check(), err); err != nil {
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
	a := leaseAnswer{DryRun: dryRun}
	before, err := m.Inspect(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	taken := takeoverOn(ctx, t, so, before)
	line, err := o.breakLease(ctx, m, before, t.Name, so.Actor, &a)
	if err == nil {
		a.Takeover = taken
		o.sayTaken(t, taken, a.DryRun)
	}
	return errors.Join(err, o.printAnswer(ctx, o.output, t.Name, a, line, err))
}

// breakLease fills in the answer.
func (o *leaseBreakOptions) breakLease(ctx context.Context, m *lease.Manager, now lease.State, target, actor string, a *leaseAnswer) (string, error) {
	a.leaseFields = leaseOf(now)
	if o.holder != "" && now.Held && now.Holder != o.holder {
		other := &lease.HeldError{Target: target, State: now, Now: now.Now}
		return "", &lifecycle.BlockedError{Reason: other.Error(), Holder: now.Who(), Mode: string(now.Mode), Until: now.Expires,
			Next: "It is not the lease of --holder any more. Look at whose it is: kubectl pharos lease show -o wide", Err: other}
	}
	if a.DryRun {
		if !now.Held || now.WasBroken() {
			return "", nothingToBreak(target, now)
		}
		return "would be broken: " + leaseLine(now), nil
	}
	holder := o.holder
	if now.Held {
		holder = now.Holder // and nobody who acquires it meanwhile
	}
	report, err := m.Break(ctx, lease.BreakRequest{User: actor, Reason: o.reason, Holder: holder})
	a.report(report)
	o.say(report)
	if errors.Is(err, lease.ErrNotHeld) {
		err = nothingToBreak(target, now)
	}
	after, lookErr := m.Inspect(ctx)
	if lookErr == nil {
		a.leaseFields = leaseOf(after)
	}
	return "broken, which was " + leaseLine(now), errors.Join(lifecycle.TargetError(err), lifecycle.TargetError(lookErr))
}

func nothingToBreak(target string, now lease.State) error {
	return notSo("there is nothing to break: the lease of target %q is %s", target, leaseLine(now))
}

// sayTaken says what a lease leaves behind that was a takeover's: breaking it puts back
// nothing.
func (o *leaseBreakOptions) sayTaken(t standard.Target, taken *takeoverFields, dryRun bool) {
	if taken == nil {
		return
	}
	stays := "is still diverted"
	if dryRun {
		stays = "would stay diverted"
	}
	for _, w := range taken.Workloads {
		if w.State == journal.Diverting {
			linef(o.ErrOut, "%s %s: its lease was that of the takeover of %s, which serves nothing more then", w.Workload, stays, taken.User)
		}
	}
	if taken.Unknown != "" {
		linef(o.ErrOut, "it was the lease of a takeover of %s, whose workloads may still be diverted: %s", taken.User, taken.Unknown)
	}
	back := "The controller of target " + t.Name + " puts it back, if one runs"
	if t.Deliver.ArgoCD != nil {
		back = "Argo CD puts it back, where it heals itself"
	}
	linef(o.ErrOut, "%s. To do it now: kubectl pharos handback --force --reason TEXT", back)
}

// say says what was opened.
func (o *leaseBreakOptions) say(r lease.Report) {
	if len(r.Opened) > 0 {
		linef(o.ErrOut, "opened %s", strings.Join(r.Opened, "\n       "))
	}
	for _, p := range r.Pending {
		linef(o.ErrOut, "not back yet: %s: %s", p.Name, p.Reason)
	}
	for _, other := range r.Others {
		linef(o.ErrOut, "kept away by others: %s", other)
	}
}
