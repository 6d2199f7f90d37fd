//go:build unix

package racetest

import (
	"os"
	"syscall"
)

// suspend stops a process where it is, with all its clocks but the machine's.
func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// wake lets it go on.
func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
