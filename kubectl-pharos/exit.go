package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/receipt"
)

// The exit codes.
const (
	exitDone        = 0
	exitNotSo       = 1 // differs, has findings, is not live
	exitUsage       = 2 // usage, or unexpected
	exitSource      = 3 // repository, pharos.yaml, build
	exitUnreachable = 4 // cluster, registry or Git server
	exitBlocked     = 5 // lease, maintenance, ownership, damaged records
	exitUnhealthy   = 6 // delivered, but not healthy
	exitInterrupted = 130
)

// errNotSo ends a command whose answer was no. If the error says nothing more,
// the answer is printed already.
var errNotSo = errors.New("")

// errUsage marks what was written on the command line, whatever else it is.
var errUsage = errors.New("usage")

// notSo is an errNotSo with a text.
func notSo(format string, args ...any) error {
	return fmt.Errorf("%s%w", fmt.Sprintf(format, args...), errNotSo)
}

// report prints an error and returns the exit code that belongs to it.
func report(ctx context.Context, w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	f := failureOf(ctx, err)
	if f.Error != "" {
		linef(w, "error: %s", f.Error)
	}
	if f.ExitCode == exitInterrupted {
		linef(w, "interrupted")
	}
	return f.ExitCode
}

// message is the error's text, in which several problems of a file stand on
// lines of their own, where editors find them, with what to do.
func message(err error) string {
	msg := strings.TrimSpace(err.Error())
	if advice := advice(err); advice != "" {
		msg += "\n" + advice
	}
	if all, ok := errors.AsType[*catalogue.ProblemsError](err); ok && len(all.List) > 1 {
		msg = strings.Replace(msg, " "+all.Error(), "\n"+all.Error(), 1)
	}
	return msg
}

// advice says what to do where the error itself does not: about a target that did
// not become healthy, for which there are these commands, about a folder that is in no
// repository, and about a cluster that does not answer, since stores and leases do not
// know where their connection comes from.
func advice(err error) string {
	if _, ok := errors.AsType[*lifecycle.UnhealthyError](err); ok && !errors.Is(err, context.Canceled) {
		return "Commit what mends it and deliver that: kubectl pharos reconcile\n" +
			"Or go back to what was live before: kubectl pharos rollback"
	}
	if errors.Is(err, source.ErrNoRepository) && !strings.Contains(err.Error(), "\n") {
		return "Go into the repository, or name its folder with --repo."
	}
	if _, ok := errors.AsType[*lifecycle.Error](err); ok || !errors.Is(err, lifecycle.ErrUnreachable) || strings.Contains(err.Error(), "\n") {
		return ""
	}
	return "Check that the cluster is up and that the kubeconfig's context is the right one."
}

func exitCode(err error) int {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	if ended, ok := errors.AsType[*endedError](err); ok {
		return ended.code
	}
	_, faulty := errors.AsType[*catalogue.ProblemsError](err) // a file of the repository
	switch {
	case is(errNotSo):
		return exitNotSo
	case is(errUsage):
		return exitUsage
	case is(lifecycle.ErrBlocked, lifecycle.ErrConflict, lease.ErrHeld, lease.ErrLost, receipt.ErrCorrupt, receipt.ErrConflict):
		return exitBlocked
	case is(lifecycle.ErrUnhealthy):
		return exitUnhealthy
	case faulty, is(lifecycle.ErrSource, source.ErrNoRepository, source.ErrUnsupported, source.ErrUnborn, source.ErrUnknownRevision,
		source.ErrCorrupt, source.ErrMalformed, standard.ErrNoTarget):
		return exitSource
	case is(lifecycle.ErrUnreachable):
		return exitUnreachable
	case is(lifecycle.ErrNoRollback, reaper.ErrGone, reaper.ErrEnding, reaper.ErrNotTransient, reaper.ErrIntent):
		return exitNotSo
	}
	return exitUsage
}
