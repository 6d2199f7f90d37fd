//go:build unix

package runtime

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	supported    = true
	terminate    = syscall.SIGTERM
	addressInUse = syscall.EADDRINUSE
)

// signalNamed is a signal by its name, such as "SIGHUP"; nil if there is none.
func signalNamed(name string) os.Signal {
	if s := unix.SignalNum(name); s != 0 {
		return s
	}
	return nil
}
