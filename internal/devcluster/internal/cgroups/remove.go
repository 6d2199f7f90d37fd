//go:build linux

package cgroups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Remove kills all processes in the cgroups of this name and below them, and removes the cgroups, as often as it takes
// until nothing is left or ctx ends. Where there are none it does nothing.
func Remove(ctx context.Context, all []Hierarchy, name string) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		left, err := remove(all, name)
		if left == 0 && err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("remove the cgroups %s with %d processes: %w", name, left, errors.Join(ctx.Err(), err))
		}
	}
}

// remove makes one attempt, and returns how many processes it found and why it could not remove a cgroup.
func remove(all []Hierarchy, name string) (processes int, err error) {
	var dirs []string
	killed := map[int]bool{}
	for _, h := range all {
		// Parents come before their children; one that has gone meanwhile is no error.
		_ = filepath.WalkDir(filepath.Join(h.Mount, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
				for _, pid := range pids(path) {
					killed[pid] = true
				}
			}
			return nil
		})
	}
	for pid := range killed {
		// It fails only for a process that has ended already.
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if e := os.Remove(dirs[i]); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
	}
	return len(killed), err
}

// pids are the processes in a cgroup.
func pids(dir string) []int {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var all []int
	for field := range strings.FieldsSeq(string(b)) {
		// Zero stands for a process that this process cannot see.
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			all = append(all, pid)
		}
	}
	return all
}
