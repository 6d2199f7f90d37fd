//go:build unix

package processgroup

import (
	"errors"
	"os/exec"
	"syscall"
)

// guard ends its process group, itself included, when its standard input ends.
const guard = "read _; kill -9 0"

// Run runs a command of exec.CommandContext, and all that it starts ends with
// it: when it ends, when its context does, and when this process does, however it
// is killed.
//
// A shell waits at a pipe that only this process holds, and the command joins the
// shell's process group. The kernel could be asked to tell the command of its
// parent's end, but means the end of the thread that started it, and tells nobody
// that the command started.
func Run(cmd *exec.Cmd) error {
	watch := exec.Command("/bin/sh", "-c", guard)
	watch.Dir, watch.Env = "/", []string{}
	watch.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := watch.StdinPipe()
	if err != nil {
		return err
	}
	if err := watch.Start(); err != nil {
		return errors.Join(err, pipe.Close())
	}
	group := watch.Process.Pid // which is nobody else's until Wait
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	cmd.Cancel = func() error { return syscall.Kill(-group, syscall.SIGKILL) }
	err = cmd.Run()
	_ = pipe.Close()
	_ = watch.Wait() // killed by itself
	return err
}
