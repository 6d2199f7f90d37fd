package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type leaseReleaseOptions struct {
	*shared
	output  *output
	holder  string
	timeout time.Duration
	noWait  bool
	dryRun  string
}

func newLeaseRelease(s *shared) *cobra.Command {
	o := &leaseReleaseOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "release",
		Short: "Hand the target back",
		Long: `Hand the target back.

What kept Argo CD away is opened, and what was changed meanwhile goes back to what was
delivered last: that is waited for, until all that the lease covered is healthy and at
exactly that commit. Then the lease is released. If the target does not come back within
--timeout, or if nothing puts back what was changed, as where Pharos applies, the lease
is released all the same, and the exit code is 6.

It releases the lease that was acquired in this repository, or the one of --holder;
kubectl pharos lease show -o wide says the holder's ID. It exits with 1 if that lease is
not held any more. It may be interrupted at any moment: run it again.`,
		Example: `  kubectl pharos lease release

  # Without waiting until the target has come back
  kubectl pharos lease release --no-wait

  # One that was acquired elsewhere
  kubectl pharos lease release --holder "$(kubectl pharos lease show -o jsonpath={.holder})"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.holder, "holder", "", "The holder's ID, if the lease was not acquired in this repository")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long the target may take to come back, such as 90s. More than 0")
	f.BoolVar(&o.noWait, "no-wait", false, "Do not wait until the target has come back, nor look at it")
	dryRunFlag(cmd, &o.dryRun)
	return cmd
}

func (o *leaseReleaseOptions) run(ctx context.Context) error {
	dryRun, err := checkDryRun(o.dryRun)
	if o.timeout <= 0 {
		err = errors.Join(err, fmt.Errorf("--timeout is %s, and must be more than 0; to release it without waiting: --no-wait", o.timeout))
	}
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
	a := leaseAnswer{DryRun: dryRun}
	line, err := o.release(ctx, t, so, l, &a)
	return errors.Join(err, o.printAnswer(ctx, o.output, t.Name, a, line, err))
}

// release fills in the answer.
func (o *leaseReleaseOptions) release(ctx context.Context, t standard.Target, so standard.Options, l *lifecycle.Lifecycle, a *leaseAnswer) (line string, err error) {
	holder := o.holder
	var now lease.State
	if holder == "" {
		now, err = o.heldHere(ctx, t, so, "there is nothing to release")
		holder = now.Holder
		if errors.Is(err, errNotSo) && !now.Held {
			return o.finish(ctx, l, now, err, a)
		}
	} else {
		now, err = l.Lease.Inspect(ctx)
		err = lifecycle.TargetError(err)
	}
	if err == nil && now.Holder == holder {
		err = notOfTakeover(ctx, t, so, now)
	}
	a.leaseFields = leaseOf(now)
	switch {
	case err != nil:
		return "", err
	case a.DryRun:
		_, err := l.Lease.Resume(ctx, holder)
		return "would be handed back: " + leaseLine(now), o.nothing(l, holder, err)
	case now.Holder == holder && now.Mode != lease.ModeBorrow:
		err = o.releaseRecord(ctx, l, now)
		line = "free"
	default:
		if now.Holder == holder && len(now.Covers) > 0 {
			linef(o.ErrOut, "handing back %s, and waiting until that is what was delivered", strings.Join(now.Covers, ", "))
		}
		var res lifecycle.HandBackResult
		res, err = handBack{shared: o.shared, lifecycle: l, holder: holder, timeout: o.timeout, noWait: o.noWait}.run(ctx)
		a.report(res.Report)
		if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); ok {
			a.Wrong = notBack.Wrong
		}
		line = "free, " + returned(res)
	}
	if err = o.nothing(l, holder, err); errors.Is(err, errNotSo) {
		return "", err
	}
	after, lookErr := l.Lease.Inspect(ctx)
	if lookErr == nil {
		a.leaseFields = leaseOf(after)
	}
	return line, errors.Join(err, lifecycle.TargetError(lookErr))
}

// finish does what a hand-back left over that was interrupted, where the lease is
// nobody's any more. Where nothing is left over, that there is nothing to release is
// all there is to say.
func (o *leaseReleaseOptions) finish(ctx context.Context, l *lifecycle.Lifecycle, now lease.State, nothing error, a *leaseAnswer) (line string, err error) {
	a.leaseFields = leaseOf(now)
	_, gate, err := l.Lease.Look(ctx)
	var left []string
	for _, c := range gate {
		if c.LeftOver {
			left = append(left, c.Name+" for "+strings.Join(c.Covers, ", "))
		}
	}
	switch what := strings.Join(left, "; "); {
	case err != nil:
		return "", errors.Join(nothing, fmt.Errorf("whether an earlier lease left something over is not known: %w", err))
	case len(left) == 0:
		return "", nothing
	case a.DryRun:
		return "would be finished: what an earlier lease left over, " + what, nil
	default:
		linef(o.ErrOut, "finishing what an earlier lease left over: %s", what)
		line = "free, and nothing of an earlier lease is left over"
	}
	res, err := handBack{shared: o.shared, lifecycle: l, timeout: o.timeout, noWait: o.noWait}.do(ctx, l.FinishHandBack)
	if a.report(res.Report); len(res.Report.Pending) > 0 {
		line = "free"
	}
	if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); ok {
		a.Wrong = notBack.Wrong
	}
	for _, c := range gate {
		err = errors.Join(err, o.forgetHolder(l.Target, c.Holder))
	}
	return line, err
}

// releaseRecord releases a lease that borrows nothing.
func (o *leaseReleaseOptions) releaseRecord(ctx context.Context, l *lifecycle.Lifecycle, now lease.State) error {
	if now.Mode == lease.ModeMaintain {
		linef(o.ErrOut, "warning: nobody looked whether the target is live: kubectl pharos maintenance off does")
	}
	held, err := l.Lease.Resume(ctx, now.Holder)
	if err == nil {
		err = held.Release(ctx)
	}
	return lifecycle.TargetError(err)
}

// nothing says of a lease that is not held any more that there is nothing to
// release, and forgets it. One that was released is forgotten, too.
func (o *leaseReleaseOptions) nothing(l *lifecycle.Lifecycle, holder string, err error) error {
	lost, ok := errors.AsType[*lease.LostError](err)
	switch {
	case err == nil && o.dryRun != "none":
		return nil
	case err == nil:
		return o.forgetHolder(l.Target, holder)
	case !ok || errors.Is(err, lifecycle.ErrBlocked):
		return err
	}
	return errors.Join(notSo("there is nothing to release: %v", lost), o.forgetHolder(l.Target, holder))
}
