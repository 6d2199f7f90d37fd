//go:build unix

package processgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guard ends its process group, itself included, when its standard input ends, and
// by nothing else that the group is sent, once it has said that it is ready.
const guard = "trap '' HUP INT QUIT USR1 USR2 PIPE ALRM TERM TSTP TTIN TTOU; echo; read _; kill -9 0"

// Group is a command that runs, with all that it started.
type Group struct {
	cmd      *exec.Cmd
	watch    *exec.Cmd
	pipe     interface{ Close() error }
	id       int
	terminal *terminal // nil unless the command has it
}

// Start starts a command of exec.CommandContext. All that it starts ends with it:
// when it ends, when its context does, and when this process does, however it is
// killed. Wait has to be called if there is no error.
//
// A shell waits at a pipe that only this process holds, and the command joins the
// shell's process group. The kernel could be asked to tell the command of its
// parent's end, but means the end of the thread that started it, and tells nobody
// that the command started.
//
// If the command's standard input is the terminal that this process reads from, the
// command is in its foreground as long as it runs, so that it may read there and is
// interrupted from there. It cannot be suspended from there.
func Start(cmd *exec.Cmd) (*Group, error) {
	watch := exec.Command("/bin/sh", "-c", guard)
	watch.Dir, watch.Env = "/", []string{}
	watch.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := watch.StdinPipe()
	if err != nil {
		return nil, err
	}
	ready, err := watch.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	if err := watch.Start(); err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	g := &Group{cmd: cmd, watch: watch, pipe: pipe, id: watch.Process.Pid} // the ID is nobody else's until Wait
	// A signal to the group would end a guard that is not ready.
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		g.end()
		return nil, fmt.Errorf("start the shell that guards the command: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	cmd.Cancel = func() error { return syscall.Kill(-g.id, syscall.SIGKILL) }
	if in, ok := cmd.Stdin.(*os.File); ok {
		g.terminal = handOver(in, g.id)
	}
	if err := g.terminal.starting(cmd.Start); err != nil {
		g.end()
		return nil, err
	}
	return g, nil
}

// Signal sends a signal to the command and all that it started.
func (g *Group) Signal(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return syscall.EINVAL
	}
	return syscall.Kill(-g.id, number)
}

// Wait waits until the command has ended, and ends what it started. Errors are
// those of exec.Cmd.Wait.
func (g *Group) Wait() error {
	err := g.cmd.Wait()
	g.end()
	return err
}

func (g *Group) end() {
	_ = syscall.Kill(-g.id, syscall.SIGKILL) // also without the guard, which somebody may have killed
	_ = g.pipe.Close()
	_ = g.watch.Wait()
	g.terminal.takeBack()
}
