//go:build linux

package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Create makes a cgroup of this name at the top of each hierarchy.
func Create(all []Hierarchy, name string) error {
	for _, h := range all {
		if h.Controllers == "" {
			// As far as the machine lets us: what it does not delegate, the node does without.
			enable(h.Mount)
		}
		dir := filepath.Join(h.Mount, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a cgroup: %w", err)
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(h, dir, file); err != nil {
				return fmt.Errorf("make a cgroup: %w", err)
			}
		}
	}
	return nil
}

// inherit gives a new cgroup of version 1 its parent's value: without one no process can join it.
func inherit(h Hierarchy, dir, file string) error {
	if h.Controllers == "" {
		return nil
	}
	value, err := os.ReadFile(filepath.Join(h.Mount, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), value, 0)
}

// enable lets the children of a cgroup of version 2 have its controllers.
func enable(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return
	}
	for c := range strings.FieldsSeq(string(b)) {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0)
	}
}

// Join moves this process into the cgroups of this name.
func Join(all []Hierarchy, name string) error {
	for _, h := range all {
		if err := join(filepath.Join(h.Mount, name)); err != nil {
			return err
		}
	}
	return nil
}

func join(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("join a cgroup: %w", err)
	}
	return nil
}

// Confine gives the calling thread a cgroup namespace, whose top are the cgroups that this process has joined, and mounts the
// hierarchies anew so that nothing above them is seen. The caller needs a mount namespace of its own and has to stay
// on this thread: what it starts from there is confined.
func Confine(all []Hierarchy) error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a cgroup namespace: %w", err)
	}
	if err := unix.Unmount(Root, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", Root, err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if len(all) == 1 && all[0].Controllers == "" {
		if err := unix.Mount("cgroup2", Root, "cgroup2", flags, ""); err != nil {
			return fmt.Errorf("mount cgroups: %w", err)
		}
		// A cgroup of version 2 has either processes or children with controllers.
		own := filepath.Join(Root, "daemons")
		if err := os.Mkdir(own, 0o755); err != nil {
			return fmt.Errorf("make a cgroup: %w", err)
		}
		if err := join(own); err != nil {
			return err
		}
		enable(Root)
		return nil
	}
	if err := unix.Mount("tmpfs", Root, "tmpfs", flags, "mode=755"); err != nil {
		return fmt.Errorf("mount cgroups: %w", err)
	}
	for _, h := range all {
		if err := os.Mkdir(h.Mount, 0o755); err != nil {
			return fmt.Errorf("mount cgroups: %w", err)
		}
		data := h.Controllers
		if strings.HasPrefix(data, "name=") {
			data = "none," + data
		}
		if err := unix.Mount("cgroup", h.Mount, "cgroup", flags, data); err != nil {
			return fmt.Errorf("mount the cgroups of %s: %w", h.Controllers, err)
		}
	}
	return nil
}
