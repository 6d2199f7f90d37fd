//go:build unix

package devenv

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// own keeps others that start a cluster from sweeping the folder while the cluster's process is away, until the closer
// is closed or this process ends. The cluster's process has to run: it holds the folder until then.
func own(stateDir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(stateDir, "owner"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ownProcessGroup keeps a Ctrl-C in the terminal from the cluster, so that the program that uses it can still clean up
// on it. The cluster ends when that program does.
func ownProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
