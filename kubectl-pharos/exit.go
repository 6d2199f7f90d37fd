package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// The exit codes.
const (
	exitDone        = 0
	exitNotSo       = 1 // differs, has findings, is not live
	exitUsage       = 2 // usage, or unexpected
	exitSource      = 3 // repository, pharos.yaml, build
	exitUnreachable = 4 // cluster, registry or Git server
	exitBlocked     = 5 // lease, maintenance, ownership
	exitUnhealthy   = 6 // delivered, but not healthy
)

// errNotSo ends a command whose answer was no. The answer is printed already.
var errNotSo = errors.New("")

// report prints an error and returns the exit code that belongs to it.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	if msg := strings.TrimSpace(err.Error()); msg != "" {
		fmt.Fprintf(w, "error: %s\n", msg)
	}
	return exitCode(err)
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
	switch {
	case is(errNotSo):
		return exitNotSo
	case is(lifecycle.ErrBlocked, lease.ErrHeld, lease.ErrLost):
		return exitBlocked
	case is(lifecycle.ErrUnhealthy):
		return exitUnhealthy
	case is(lifecycle.ErrSource, source.ErrNoRepository, source.ErrUnborn, source.ErrUnknownRevision, standard.ErrNoTarget):
		return exitSource
	case is(lifecycle.ErrUnreachable):
		return exitUnreachable
	}
	return exitUsage
}
