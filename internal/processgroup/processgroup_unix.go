//go:build unix

package processgroup

import (
	"os/exec"
	"syscall"
)

// Own gives a command that has not been started a process group of its own, so
// that all that it starts is killed with it when its context ends.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
