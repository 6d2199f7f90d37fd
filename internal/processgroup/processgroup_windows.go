package processgroup

import (
	"os"
	"os/exec"
	"strconv"
)

// Group is a command that runs, with all that it started.
type Group struct{ cmd *exec.Cmd }

// Start starts a command of exec.CommandContext. All that it starts ends with it
// when its context does. Wait has to be called if there is no error.
func Start(cmd *exec.Cmd) (*Group, error) {
	g := &Group{cmd}
	cmd.Cancel = func() error { return g.Signal(os.Kill) }
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return g, nil
}

// Signal ends the command and all that it started: there are no signals.
func (g *Group) Signal(os.Signal) error {
	// Windows has no process groups to kill; taskkill walks the tree.
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.cmd.Process.Pid)).Run() == nil {
		return nil
	}
	return g.cmd.Process.Kill()
}

// Wait waits until the command has ended. Errors are those of exec.Cmd.Wait.
func (g *Group) Wait() error { return g.cmd.Wait() }
