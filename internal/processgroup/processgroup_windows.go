package processgroup

import (
	"os/exec"
	"strconv"
)

// Run runs a command of exec.CommandContext, and all that it starts ends with
// it when its context does.
func Run(cmd *exec.Cmd) error {
	cmd.Cancel = func() error {
		// Windows has no process groups to kill; taskkill walks the tree.
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
	return cmd.Run()
}
