package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pharos-dev/pharos/internal/processgroup"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// toEnd is how long a command has to end by itself once its lease is lost: less than
// the lease's margin.
const toEnd = 2 * time.Second

// runCommand runs the command while the lease is held, and hands the target back. The
// error's exit code is the command's.
func (o *leaseAcquireOptions) runCommand(ctx context.Context, l *lifecycle.Lifecycle, held *lease.Held) error {
	linef(o.ErrOut, "%s: %s", l.Target, o.acquired(held.State()))
	// What interrupts this process is the command's from here on.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	err := context.Cause(ctx)
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		err = o.whileHeld(ctx, held, signals)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-signals: // whoever interrupts that does not want to wait for it
			cancel()
		case <-done:
		}
	}()
	_, back := handBack{shared: o.shared, lifecycle: l, holder: held.Holder(), timeout: o.timeout}.run(ctx)
	_, notBack := errors.AsType[*lifecycle.NotReturnedError](back)
	switch {
	case errors.Is(err, lease.ErrLost) && errors.Is(back, lease.ErrLost):
		back = nil // that was said
	case back != nil && !notBack:
		back = fmt.Errorf("%w\nHand the target back with: kubectl pharos lease release. If the lease is still held, it ends by itself at %s",
			back, held.State().Expires.Format(time.RFC3339))
	}
	return outcome(err, back)
}

// outcome is how the command and the hand-back ended, with one exit code: that of the
// command if it has one of its own, which one that a signal ended has not, and else
// that of the hand-back. What interrupts this process says nothing: it was passed on
// to the command, and then ended the hand-back at most.
func outcome(err, back error) error {
	ended, ok := errors.AsType[*endedError](err)
	switch {
	case ok && (back == nil || !ended.signaled), err == nil && back == nil:
		return errors.Join(err, back)
	case ok:
		err = nil
	}
	all := errors.Join(err, back)
	code := exitCode(all)
	if code == exitUsage && errors.Is(all, context.Canceled) {
		code = exitInterrupted
	}
	return errors.Join(&endedError{code: code}, all)
}

// whileHeld runs the command while the lease is renewed, and ends it when that is
// lost.
func (o *leaseAcquireOptions) whileHeld(ctx context.Context, held *lease.Held, signals <-chan os.Signal) error {
	name := strings.Join(o.command, " ")
	cmd := exec.CommandContext(ctx, o.command[0], o.command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.In, o.Out, o.ErrOut
	if out, ok := o.Out.(*noted); ok {
		cmd.Stdout = out.Writer // which may be a terminal
	}
	group, err := processgroup.Start(cmd)
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	lost, stop := keepAndCheck(ctx, held)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	var why error
	var late <-chan time.Time
	for {
		select {
		case s := <-signals:
			_ = group.Signal(s) // it may have ended
		case why = <-lost:
			late = time.After(toEnd)
			linef(o.ErrOut, "LOST THE LEASE: %v. Others may write to the target now, so %s is ended", why, name)
			_ = group.Signal(syscall.SIGTERM)
		case <-late:
			_ = group.Signal(os.Kill)
		case err := <-ended:
			if why != nil {
				return &lifecycle.BlockedError{Reason: fmt.Sprintf("%s was ended: %v", name, why), Next: "Look at who has it with: kubectl pharos lease show", Err: why}
			}
			return asExit(err)
		}
	}
}

// checkEvery is how often it is asked whether the lease is still held while a
// command runs. Renewals are further apart, and who breaks it wants the command to
// stop soon.
const checkEvery = 5 * time.Second

// keepAndCheck renews the lease, and says if it is lost, until stop is called.
func keepAndCheck(ctx context.Context, held *lease.Held) (lost <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan error, 1)
	kept, stopKeeping := held.Keep(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticks := time.NewTicker(checkEvery)
		defer ticks.Stop()
		for {
			var err error
			select {
			case err = <-kept:
				kept = nil // it is renewed no more
			case <-ticks.C:
				err = held.Check(ctx)
			case <-ctx.Done():
				return
			}
			if errors.Is(err, lease.ErrLost) {
				ch <- err
				return
			}
		}
	}()
	return ch, func() {
		cancel()
		stopKeeping()
		<-done
	}
}

// endedError is the exit code of a command that has said itself what there is to say.
type endedError struct {
	code     int
	signaled bool
}

func (e *endedError) Error() string { return "" }

// asExit takes over how a command ended, as shells do.
func asExit(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &endedError{128 + int(status.Signal()), true}
	}
	return &endedError{code: exit.ExitCode()}
}
