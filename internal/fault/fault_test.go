package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/internal/fault"
)

func TestWhoseFault(t *testing.T) {
	t.Parallel()
	dial := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}
	request := func(err error) error { return &url.Error{Op: "Patch", URL: "https://127.0.0.1:1", Err: err} }
	file := func(errno syscall.Errno) error { return &fs.PathError{Op: "read", Path: "/tmp/x", Err: errno} }
	for name, tc := range map[string]struct {
		err                 error
		machine, connection bool
	}{
		"none":                          {},
		"refused connection":            {err: request(dial(syscall.ECONNREFUSED)), connection: true},
		"reset connection":              {err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, connection: true},
		"unknown host":                  {err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, connection: true},
		"socket that is not there":      {err: dial(syscall.ENOENT), connection: true},
		"answer that is cut off":        {err: io.ErrUnexpectedEOF, connection: true},
		"deadline":                      {err: context.DeadlineExceeded, connection: true},
		"no file left for a socket":     {err: request(dial(syscall.EMFILE)), machine: true},
		"no file left in the system":    {err: dial(syscall.ENFILE), machine: true},
		"full disk":                     {err: file(syscall.ENOSPC), machine: true},
		"broken disk under a request":   {err: request(file(syscall.EIO)), machine: true},
		"closed file under a request":   {err: request(file(syscall.EACCES)), machine: true},
		"missing file under a request":  {err: request(file(syscall.ENOENT)), machine: true},
		"number alone":                  {err: syscall.ENOSPC, machine: true},
		"another number alone":          {err: syscall.ECHILD},
		"address that cannot be parsed": {err: &url.Error{Op: "parse", URL: ":", Err: errors.New("missing protocol scheme")}},
		"anything else":                 {err: errors.New("x")},
	} {
		err := tc.err
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		if got := fault.OfMachine(err); got != tc.machine {
			t.Errorf("%s: of the machine: %t", name, got)
		}
		if _, file := errors.AsType[*fs.PathError](err); !file && fault.OfSystem(err) != tc.machine {
			t.Errorf("%s: of the system: %t", name, !tc.machine)
		}
		if got := fault.OfConnection(err); got != tc.connection {
			t.Errorf("%s: of a connection: %t", name, got)
		}
	}
}
