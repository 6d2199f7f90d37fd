//go:build unix

package processgroup

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is one whose foreground was handed over to another process group.
type terminal struct {
	file *os.File
	ours int
}

// handOver puts a process group into the foreground of the terminal that a file
// is, if this process is there. It returns nil if not.
func handOver(file *os.File, group int) *terminal {
	ours, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	if err != nil || ours != syscall.Getpgrp() {
		return nil
	}
	if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.TIOCSPGRP, group); err != nil {
		return nil
	}
	return &terminal{file: file, ours: ours}
}

// starting runs start so that what it starts cannot be suspended from the terminal:
// nobody would be there to wake it up.
func (t *terminal) starting(start func() error) error {
	if t != nil {
		signal.Ignore(syscall.SIGTSTP) // which is inherited
		defer signal.Reset(syscall.SIGTSTP)
	}
	return start()
}

// takeBack undoes handOver.
func (t *terminal) takeBack() {
	if t == nil {
		return
	}
	// Who is not in the foreground is stopped when it takes it, unless it ignores
	// that.
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, t.ours)
}
