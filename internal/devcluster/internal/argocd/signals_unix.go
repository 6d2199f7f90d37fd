//go:build unix

package argocd

import (
	"os"
	"syscall"
)

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// pause keeps the program from running, and with it from noticing anything.
func (p *process) pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// resume lets a paused program go on.
func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
