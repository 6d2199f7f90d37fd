//go:build unix

package guardian

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// detach starts a command in a session of its own, without a terminal.
func detach(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return nil
}

// exited says whether a child has ended, and how. It does not wait for it.
func exited(pid int) (how string, ended bool) {
	var status syscall.WaitStatus
	for {
		done, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return err.Error(), true
		case done == 0:
			return "", false
		case status.Signaled():
			return "signal: " + status.Signal().String(), true
		}
		return fmt.Sprintf("exit status %d", status.ExitStatus()), true
	}
}
