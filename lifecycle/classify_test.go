package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

func TestTargetError(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused connection":         {refused, true},
		"answer that is cut off":     {io.ErrUnexpectedEOF, true},
		"record that is cut off":     {fmt.Errorf("%w: %w", receipt.ErrCorrupt, io.ErrUnexpectedEOF), false},
		"record that is empty":       {fmt.Errorf("%w: %w", receipt.ErrCorrupt, io.EOF), false},
		"record that is not there":   {fmt.Errorf("%w: %w", receipt.ErrNotFound, io.EOF), false},
		"full disk":                  {&fs.PathError{Op: "write", Path: "/tmp/x", Err: syscall.ENOSPC}, false},
		"interrupted":                {fmt.Errorf("%w: %w", context.Canceled, refused), false},
		"blocked, and a refused one": {&lifecycle.BlockedError{Reason: "x", Err: refused}, false},
	} {
		err := fmt.Errorf("wrapped: %w", tc.err)
		got := lifecycle.TargetError(err)
		if errors.Is(got, lifecycle.ErrUnreachable) != tc.want || !errors.Is(got, tc.err) || got.Error() != err.Error() {
			t.Errorf("%s: got %v, want an ErrUnreachable: %t", name, got, tc.want)
		}
	}
	if err := lifecycle.TargetError(nil); err != nil {
		t.Errorf("of no error: %v", err)
	}
}
