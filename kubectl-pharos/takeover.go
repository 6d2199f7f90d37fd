package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

type takeoverOptions struct {
	*shared
	*takeoverFlags
	output *output
	dryRun string
	detach bool
	events bool
	names  []string
}

func newTakeover(s *shared) *cobra.Command {
	o := &takeoverOptions{shared: s, takeoverFlags: &takeoverFlags{}}
	cmd := &cobra.Command{
		Use:   "takeover [WORKLOAD…]",
		Short: "Run the edits of the working tree here, in place of the workloads on the target",
		Long: `Run the edits of the working tree here, in place of the workloads on the target.

The images that the working tree changes are looked for in what the target has, and the
Deployments that use them are taken over: an agent takes the container's place, and what
the cluster sends there is answered by a process on this machine, which is built and
started from the working tree, with the variables of the container's environment that
pharos.yaml lists, and started anew when a file changes. Arguments name the Deployments
to take over instead: api, deploy/api, shop/api, or the name of an image.

The target is borrowed meanwhile. A process of its own goes on when this terminal is
closed; this command only shows what happens. Ctrl-C once leaves it, Ctrl-C twice hands
everything back, as kubectl pharos handback does. If this machine is gone, callers are
answered 503 after 20 seconds, and everything is put back when the lease ends, 20
minutes after the last sign of life, or after --silence.

A takeover that was interrupted is gone on with by the same command, and one that runs
is watched. If pods are not replaced, or served from here, within --timeout, what was
done is undone.

With --events it is for programs: each line of the output is a JSON document of the
published schema, and so is each of the input, which asks for something. The end of the
input ends nothing; SIGINT or SIGTERM ends this command, and not the takeover. What
--dry-run says is printed for programs by --output.

Exit codes: 0 handed back, or left to itself; 1 nothing differs from the target; 2 wrong
usage, a port of this machine is in use, or its process was killed; 3 the working tree
cannot be run; 4 the target cannot be reached; 5 refused, or the target is
somebody else's; 6 not served, or not back, within --timeout.`,
		Example: `  # What would be taken over, and what would run?
  kubectl pharos takeover --dry-run

  # Take over what the working tree changes, and watch
  kubectl pharos takeover

  # One Deployment, in the background
  kubectl pharos takeover shop/api --detach
  kubectl pharos takeover logs --follow
  kubectl pharos handback

  # For an editor: events as lines of JSON, requests on the standard input, such as
  # {"version":1,"op":"handback"}
  kubectl pharos takeover --events`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: s.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return meant(cmd, args, o.run(cmd))
		},
	}
	o.output = newOutput(cmd)
	o.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.detach, "detach", false, "Return once the workloads are taken over")
	f.BoolVar(&o.events, "events", false, "Write events as lines of JSON, and read requests from the standard input")
	dryRunFlag(cmd, &o.dryRun)
	cmd.AddCommand(newTakeoverStatus(s), newTakeoverLogs(s), newTakeoverAttach(s), newTakeoverRestart(s), newTakeoverGuardian(s))
	return cmd
}

func (o *takeoverOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(err, o.output.check(), o.check(dryRun)); err != nil {
		return err
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	if dryRun {
		return o.try(ctx, repo, t, so)
	}
	folder := workstation.Folder(repo)
	client, err := guardian.Connect(ctx, folder)
	joined := err == nil
	switch {
	case err == nil && len(o.names) > 0:
		return o.runs("workloads cannot be added to it: hand it back first with kubectl pharos handback, and name all of them")
	case err == nil:
		o.joins(cmd, client)
	case errors.Is(err, guardian.ErrNotRunning):
		if client, err = o.start(cmd, folder); err != nil {
			other, oerr := guardian.Connect(ctx, folder)
			if oerr != nil {
				return err
			}
			client, joined = other, true // that was faster
			o.joins(cmd, client)
		}
	default:
		return err
	}
	if o.events {
		return o.relay(ctx, client)
	}
	if joined && o.detach {
		return o.joinedAlready(ctx, client)
	}
	return o.end(o.watch(ctx, client, observer{detach: o.detach, joined: joined}))
}

// joinedAlready says how a session is that ran already, and waits until it serves. What
// came before is of no interest to who does not watch.
func (o *takeoverOptions) joinedAlready(ctx context.Context, client *guardian.Client) error {
	now := time.Now()
	st, err := client.Status(ctx)
	if err != nil {
		return err
	}
	for _, w := range st.Workloads {
		linef(o.ErrOut, "%s: %s", w.Workload, stateOf(w))
	}
	if allTaken(st) {
		return nil
	}
	return o.end(o.watch(ctx, client, observer{detach: true, since: now}))
}

func (o *takeoverOptions) check(dryRun bool) error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(!dryRun && !o.output.human(), "-o is for --dry-run: for a program there is --events")
	wrong(dryRun && (o.events || o.detach), "--dry-run takes nothing over: leave out --events and --detach")
	wrong(o.events && o.detach, "--events and --detach are one too many: events are written as long as the session goes on")
	return errors.Join(append(errs, o.takeoverFlags.check())...)
}

// takeoverFlags are those that the process of a session is given, too.
type takeoverFlags struct {
	auto    bool
	silence time.Duration
	timeout time.Duration
}

func (o *takeoverFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.auto, "auto-handback", false, "Hand back by itself once the images of the working tree are those of the target again")
	f.DurationVar(&o.silence, "silence", 0, "Have the target's controller put the workloads back after this long without a sign of life, at least 2m. The default is the end of the lease")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long pods may take to be replaced, and the target to come back in the end. More than 0")
}

// leastSilence is longer than the pauses between two signs of life.
const leastSilence = 2 * time.Minute

func (o *takeoverFlags) check() error {
	var errs []error
	if o.silence != 0 && o.silence < leastSilence {
		errs = append(errs, fmt.Errorf("--silence is %s, and must be at least %s: a sign of life comes every 45 seconds", o.silence, leastSilence))
	}
	if o.timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout is %s, and must be more than 0", o.timeout))
	}
	return errors.Join(errs...)
}

// runs says why a session that runs cannot do what was asked for.
func (o *takeoverOptions) runs(why string) error {
	return usage(fmt.Errorf("a takeover of this checkout runs already, and %s", why))
}

// joins says that a session runs already, and which flags are not heeded.
func (o *takeoverOptions) joins(cmd *cobra.Command, client *guardian.Client) {
	linef(o.ErrOut, "the takeover of this checkout goes on; its process is %d", client.PID())
	for _, name := range []string{"auto-handback", "silence", "timeout"} {
		if cmd.Flags().Changed(name) {
			linef(o.ErrOut, "warning: --%s changes nothing of a takeover that runs already", name)
		}
	}
}

// relay is the protocol for programs.
func (o *takeoverOptions) relay(ctx context.Context, client *guardian.Client) error {
	p, write := &takeoverProgress{w: io.Discard}, newLines(o.Out)
	told, stop := context.WithCancel(ctx)
	defer stop()
	// The session's own first line is the first.
	begun := make(chan struct{})
	requests, ignore := readRequests(told, o.In, func(l guardian.Line) error {
		select {
		case <-begun:
			return write(l)
		case <-told.Done():
			return context.Cause(told)
		}
	})
	defer ignore()
	first := sync.OnceFunc(func() { close(begun) })
	err := client.Attach(ctx, requests, func(l guardian.Line) error {
		defer first()
		if l.Event != nil {
			p.event(*l.Event)
		}
		return write(l)
	})
	if err == nil && ctx.Err() == nil {
		err = p.outcome()
	}
	return seenEnough(err)
}
