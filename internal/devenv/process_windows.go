package devenv

import (
	"io"
	"os/exec"
	"syscall"
)

// own does nothing: the cluster's program does not sweep on Windows.
func own(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// ownProcessGroup keeps a Ctrl-C in the console from the cluster, so that the program that uses it can still clean up
// on it. The cluster ends when that program does.
func ownProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
