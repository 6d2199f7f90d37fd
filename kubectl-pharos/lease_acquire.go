package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
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
	timeout time.Duration
	dryRun  string
	exec    bool

	apps    []string
	command []string
}

func newLeaseAcquire(s *shared) *cobra.Command {
	o := &leaseAcquireOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "acquire --purpose TEXT [APP…] [--exec -- COMMAND [ARG…]]",
		Short: "Borrow the target, so that nobody delivers and nothing heals it",
		Long: `Borrow the target, so that nobody delivers and nothing heals it.

Nobody delivers while the lease is held, you neither: hand it back first. Where Argo
CD delivers, it leaves alone the Applications that the lease covers: those that are
named, or all of the target. Nobody's policy is edited; others of their project go on.
An operation that runs in one of them is waited for with --wait.

The lease ends by itself after --for, since nothing renews it; kubectl pharos lease
renew moves its end, and kubectl pharos lease release hands the target back before. With
--exec it is held as long as a command runs, at most 12 hours: it is renewed meanwhile,
signals are passed on, and when the command ends the target is handed back. If the
lease is lost the command is ended, with all that it started, and the exit code is 5;
else it is the command's own. What was changed by hand is put back by Argo CD once the
target is handed back, or the lease has ended; where Pharos applies, nothing puts it
back, and the next delivery says so.

The holder's ID is kept in the repository's Git folder before the lease is acquired, so
that release finds it whatever happens to this process.`,
		Example: `  # Borrow all of the target for two hours
  kubectl pharos lease acquire --for 2h --purpose "debugging the checkout"

  # Borrow one Application of Argo CD, once what it is doing has ended
  kubectl pharos lease acquire shop-api --wait 2m --for 30m --purpose "another image"

  # Borrow it as long as a command runs, or a shell
  kubectl pharos lease acquire --purpose "load test" --exec -- ./load-test.sh --users 100
  kubectl pharos lease acquire --purpose "a look" --exec -- bash

  # Could it be borrowed, and what would be covered?
  kubectl pharos lease acquire --purpose "a look" --dry-run`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: s.completeApplications,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.apps = args
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				o.apps, o.command = args[:dash], args[dash:]
			}
			return o.run(cmd.Context())
		},
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.mode, "mode", string(lease.ModeBorrow), "What for: borrow or maintain. A maintenance has a command of its own, which proves its end: kubectl pharos maintenance")
	f.StringVar(&o.purpose, "purpose", "", "Why, for the people who find it held. Required")
	f.DurationVar(&o.hold, "for", 0, "When it ends by itself, such as 2h, in whole seconds, 12h at most. The default is 20 minutes for borrow")
	f.DurationVar(&o.wait, "wait", 0, "How long to wait while somebody else holds it, or while something is being written to what it is to cover")
	f.BoolVar(&o.exec, "exec", false, "Hold it as long as the command after -- runs")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "With --exec, how long the target may take to come back afterwards. More than 0")
	dryRunFlag(cmd, &o.dryRun)
	_ = cmd.MarkFlagRequired("purpose")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{string(lease.ModeBorrow), string(lease.ModeMaintain)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses what could be meant in more than one way, or could not be done, all
// of it before any work.
func (o *leaseAcquireOptions) check() (dryRun bool, err error) {
	dryRun, err = checkDryRun(o.dryRun)
	errs := []error{o.output.check(), err}
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	maintain := o.mode == string(lease.ModeMaintain)
	wrong(o.mode != string(lease.ModeBorrow) && !maintain, "--mode is %q, and must be borrow or maintain: deliver is for deliveries", o.mode)
	wrong(maintain && len(o.apps) > 0, "a lease in mode maintain is of all the target, so that it covers no %s alone", strings.Join(o.apps, ", "))
	wrong(maintain && o.exec, "--exec is for borrowing: a maintenance ends when the target is live")
	wrong(o.timeout <= 0, "--timeout is %s, and must be more than 0: it is how long the target may take to come back", o.timeout)
	wrong(o.exec && len(o.command) == 0, "--exec needs a command: kubectl pharos lease acquire --purpose TEXT --exec -- COMMAND")
	wrong(!o.exec && len(o.command) > 0, "to run %s while the lease is held: --exec", o.command)
	wrong(o.exec && o.hold != 0, "--for and --exec are one too many: with --exec the lease is renewed until the command ends")
	wrong(o.exec && dryRun, "--dry-run and --exec are one too many: leave out the command")
	wrong(o.exec && !o.output.human(), "-o and --exec are one too many: the output is the command's")
	if o.exec && len(o.command) > 0 {
		if _, err := exec.LookPath(o.command[0]); err != nil {
			errs = append(errs, fmt.Errorf("nothing was acquired, since the command cannot be run: %w", err))
		}
	}
	return dryRun, usage(errs...)
}

func (o *leaseAcquireOptions) run(ctx context.Context) error {
	dryRun, err := o.check()
	if err != nil {
		return err
	}
	_, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	if len(o.apps) > 0 && t.Deliver.ArgoCD == nil {
		return usage(fmt.Errorf("target %q has no Applications: Argo CD does not deliver it, and a lease covers all of it. Leave out %s", t.Name, strings.Join(o.apps, ", ")))
	}
	l, err := standard.New(t, so)
	if err != nil {
		return err
	}
	if dryRun {
		return o.tryOut(ctx, l)
	}
	held, err := o.acquire(ctx, l)
	if err == nil && o.exec {
		return o.runCommand(ctx, l, held)
	}
	var a leaseAnswer
	line := ""
	switch other, ok := errors.AsType[*lease.HeldError](err); {
	case err == nil:
		a.leaseFields, line = leaseOf(held.State()), o.acquired(held.State())
	case ok:
		a.leaseFields = leaseOf(other.State)
	}
	return errors.Join(err, o.printAnswer(ctx, o.output, t.Name, a, line, err))
}

// acquired says what is held, for a person.
func (o *leaseAcquireOptions) acquired(s lease.State) string {
	if len(s.Covers) == 0 {
		return leaseLine(s)
	}
	return leaseLine(s) + "\n  covers " + strings.Join(s.Covers, ", ")
}

// acquire keeps the holder's ID, and then acquires the lease.
func (o *leaseAcquireOptions) acquire(ctx context.Context, l *lifecycle.Lifecycle) (*lease.Held, error) {
	now, err := l.Lease.Inspect(ctx)
	if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	r := o.request()
	if err := o.keepHolder(l.Target, r.Holder, now); err != nil {
		return nil, err
	}
	if now.Held && o.keptHere(l.Target, now.Holder) {
		r.Wait = 0 // for ourselves
	}
	var held *lease.Held
	if o.mode == string(lease.ModeMaintain) {
		_, err = l.StartMaintenance(ctx, lifecycle.MaintenanceRequest{Holder: r.Holder, Reason: r.Purpose, For: r.For, Wait: r.Wait})
		if err == nil {
			held, err = l.Lease.Resume(ctx, r.Holder)
		}
	} else {
		held, err = l.Borrow(ctx, r)
	}
	if errors.Is(err, lease.ErrHeld) || errors.Is(err, lease.ErrInvalid) {
		return nil, errors.Join(o.orOurs(err), o.forgetHolder(l.Target, r.Holder))
	}
	// After another error it may be held all the same, if an answer was lost: what is
	// kept releases it.
	return held, err
}

func (o *leaseAcquireOptions) request() lifecycle.BorrowRequest {
	return lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: o.purpose, Covers: o.apps, For: o.hold, Wait: o.wait}
}

// tryOut says whether the lease could be acquired.
func (o *leaseAcquireOptions) tryOut(ctx context.Context, l *lifecycle.Lifecycle) error {
	a := leaseAnswer{DryRun: true}
	var err error
	if o.mode == string(lease.ModeMaintain) {
		_, err = l.StartMaintenance(ctx, lifecycle.MaintenanceRequest{Holder: lease.NewHolder(), Reason: o.purpose, For: o.hold, DryRun: true})
	} else {
		a.Covers, err = l.TryBorrow(ctx, o.request())
	}
	err = o.orOurs(err)
	line := "nothing stands against it"
	if len(a.Covers) > 0 {
		line += "; it would cover " + strings.Join(a.Covers, ", ")
	}
	if other, ok := errors.AsType[*lease.HeldError](err); ok {
		a.leaseFields = leaseOf(other.State)
	}
	return errors.Join(err, o.printAnswer(ctx, o.output, l.Target, a, line, err))
}
