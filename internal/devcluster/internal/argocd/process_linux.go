package argocd

import (
	"os/exec"
	"syscall"
)

// endWithUs has the system kill the program when this process ends in whatever way, and keeps a terminal's Ctrl-C from
// it, which is for this process.
func endWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
