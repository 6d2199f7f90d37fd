package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"none":                      {nil, exitDone},
		"an answer of no":           {notSo("not live"), exitNotSo},
		"a full disk":               {lifecycle.TargetError(fmt.Errorf("write: %w", syscall.ENOSPC)), exitUsage},
		"a faulty file":             {fmt.Errorf("resolve: %w", &catalogue.ProblemsError{List: []*catalogue.Problem{{File: ".env", Line: 1, Message: "has no ="}}}), exitSource},
		"a build's mistake":         {&lifecycle.BuildError{Image: "api", Reason: "x"}, exitSource},
		"a closed connection":       {lifecycle.TargetError(fmt.Errorf("read: %w", io.ErrUnexpectedEOF)), exitUnreachable},
		"a record that is cut off":  {lifecycle.TargetError(fmt.Errorf("%w: %w", receipt.ErrCorrupt, io.ErrUnexpectedEOF)), exitBlocked},
		"a record that is not here": {lifecycle.TargetError(receipt.ErrNotFound), exitUsage},
		"a target that is not well": {&lifecycle.UnhealthyError{Err: context.DeadlineExceeded}, exitUnhealthy},
	} {
		if got := report(t.Context(), io.Discard, tc.err); got != tc.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tc.want)
		}
	}
	if got, want := message(&lifecycle.UnhealthyError{Err: context.DeadlineExceeded}), "kubectl pharos rollback"; !strings.HasSuffix(got, want) {
		t.Errorf("of a target that is not well: %q, want it to end with %q", got, want)
	}
	if got := message(&lifecycle.UnhealthyError{Err: context.Canceled}); strings.Contains(got, "rollback") {
		t.Errorf("of a delivery that was interrupted: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := report(ctx, io.Discard, errors.New("x")); got != exitInterrupted {
		t.Errorf("interrupted: exit code %d", got)
	}
}
