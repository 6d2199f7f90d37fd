//go:build linux || darwin

package portowner_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portowner"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		if got := portowner.Of(t.Context(), port); !strings.HasSuffix(got, fmt.Sprintf(" (process %d)", os.Getpid())) {
			t.Errorf("%s is of %q, want this process, %d", l.Addr(), got, os.Getpid())
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := portowner.Of(t.Context(), port); got != "" {
			t.Errorf("a closed port is of %q", got)
		}
	}
}
