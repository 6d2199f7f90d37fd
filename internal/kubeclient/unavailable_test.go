package kubeclient_test

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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

func TestUnavailable(t *testing.T) {
	t.Parallel()
	dial := func(errno syscall.Errno) error {
		return &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}}
	}
	file := func(errno syscall.Errno) error { return &fs.PathError{Op: "write", Path: "/tmp/x", Err: errno} }
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"none":                        {nil, false},
		"refused connection":          {dial(syscall.ECONNREFUSED), true},
		"reset connection":            {&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, true},
		"unknown host":                {&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, true},
		"answer that is cut off":      {fmt.Errorf("read the answer: %w", io.ErrUnexpectedEOF), true},
		"deadline":                    {context.DeadlineExceeded, true},
		"unauthorized":                {apierrors.NewUnauthorized("x"), true},
		"forbidden":                   {apierrors.NewForbidden(leases, "x", nil), true},
		"broken server":               {apierrors.NewInternalError(errors.New("x")), true},
		"conflict":                    {apierrors.NewConflict(leases, "x", nil), false},
		"full disk":                   {file(syscall.ENOSPC), false},
		"disk that is read only":      {file(syscall.EROFS), false},
		"folder that is not there":    {file(syscall.ENOENT), false},
		"no file left for a file":     {file(syscall.EMFILE), false},
		"no file left for a socket":   {dial(syscall.EMFILE), false},
		"no file left in the system":  {dial(syscall.ENFILE), false},
		"address that cannot be read": {&url.Error{Op: "parse", URL: ":", Err: errors.New("missing protocol scheme")}, false},
		"anything else":               {errors.New("x"), false},
	} {
		err := tc.err
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		if got := kubeclient.Unavailable(err); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
