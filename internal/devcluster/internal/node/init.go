//go:build linux

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/cgroups"
)

// inherited is the number of files that Run inherits behind the standard ones.
const inherited = 3

// Init is the first process of the node's namespaces. It returns Run's exit status when that has ended; then the process has
// to end.
func Init(told string) (status int, err error) {
	// A cgroup namespace belongs to a thread, and what is started from there.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	commands, toRun, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	go func() {
		// It ends with the process that holds the other end.
		_, _ = io.Copy(toRun, os.Stdin)
		os.Exit(1)
	}()
	var in inside
	if err := json.Unmarshal([]byte(told), &in); err != nil {
		return 0, err
	}
	// While the machine's mounts are seen.
	hierarchies, err := cgroups.Find()
	if err != nil {
		return 0, err
	}
	if err := cgroups.Join(hierarchies, cgroupName); err != nil {
		return 0, err
	}
	if err := mounts(in.State); err != nil {
		return 0, err
	}
	if err := cgroups.Confine(hierarchies); err != nil {
		return 0, err
	}
	if err := network(); err != nil {
		return 0, err
	}
	run, err := startRun(told, commands)
	if err != nil {
		return 0, err
	}
	return reap(run)
}

// mounts makes the mount namespace private and gives it its own processes and places to write.
func mounts(state string) error {
	// First out of the machine's groups, so that nothing below reaches it; then into new ones, for volumes with
	// propagation.
	for _, flags := range []uintptr{unix.MS_REC | unix.MS_PRIVATE, unix.MS_REC | unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", flags, ""); err != nil {
			return fmt.Errorf("make mounts private: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range hidden {
		// In the state folder, not in memory: volumes of pods may be large.
		own := filepath.Join(state, "machine", dir)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
		if err := unix.Mount(own, dir, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return nil
}

func startRun(told string, commands *os.File) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	files := []*os.File{commands, os.Stdout, os.Stderr}
	for i := range inherited {
		files = append(files, os.NewFile(uintptr(3+i), "socket"))
	}
	p, err := os.StartProcess(self, []string{self, RunCommand, told}, &os.ProcAttr{Files: files})
	if err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	// So that who reads standard output sees its end with the cluster's.
	return p, errors.Join(commands.Close(), os.Stdout.Close())
}

// reap collects children, its own one and orphans, until its own one has ended.
func reap(own *os.Process) (status int, err error) {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the cluster: %w", err)
		case pid == own.Pid && s.Signaled():
			return 0, fmt.Errorf("the cluster was ended by signal %v", s.Signal())
		case pid == own.Pid:
			return s.ExitStatus(), nil
		}
	}
}
