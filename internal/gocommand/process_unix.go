//go:build unix

package gocommand

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, so that the compilers
// and linkers that it starts end with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
