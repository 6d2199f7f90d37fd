package gocommand

import (
	"os/exec"
	"strconv"
)

// ownGroup makes the end of a command the end of what it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		// Windows has no process groups to kill; taskkill walks the tree.
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}
