package machine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/build/internal/machine"
)

func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string // in the advice; none if it is empty
	}{
		{&fs.PathError{Op: "write", Path: "/temp/x", Err: syscall.ENOSPC}, "/temp is full"},
		{fmt.Errorf("wrapped: %w", &fs.PathError{Op: "write", Path: "/temp/x", Err: syscall.EROFS}), "name another with TMPDIR"},
		{&fs.PathError{Op: "mkdir", Path: "/temp/x", Err: syscall.ENOENT}, "/temp is not there"},
		{&fs.PathError{Op: "open", Path: "/temp/x", Err: syscall.EMFILE}, "ulimit -n"},
		{os.NewSyscallError("open", syscall.ENFILE), "ulimit -n"},
		{&fs.PathError{Op: "open", Path: "/elsewhere", Err: syscall.ENOENT}, ""},
		{errors.New("no space left on device"), ""},
		{nil, ""},
	} {
		got := machine.Advice(tt.err, "/temp", "TMPDIR")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v: got the advice %q, want %q", tt.err, got, tt.want)
		}
	}
}
