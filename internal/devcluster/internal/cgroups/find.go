//go:build linux

package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is where all hierarchies are mounted.
const Root = "/sys/fs/cgroup"

// Hierarchy is a mounted hierarchy of cgroups.
type Hierarchy struct {
	// Mount is where it is mounted.
	Mount string
	// Controllers are what a version 1 hierarchy is mounted with, such as "cpu,cpuacct" or "name=systemd". It is empty for
	// version 2.
	Controllers string
}

// Find returns the machine's hierarchies: one of version 2, or all of version 1.
func Find() ([]Hierarchy, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the cgroups: %w", err)
	}
	all := parse(string(b))
	if len(all) == 0 {
		return nil, errors.New("find the cgroups: none are mounted at " + Root)
	}
	return all, nil
}

// parse reads a mountinfo(5) table.
func parse(mountinfo string) []Hierarchy {
	var v1, v2 []Hierarchy
	for line := range strings.Lines(mountinfo) {
		mount, super, ok := strings.Cut(line, " - ")
		fields, last := strings.Fields(mount), strings.Fields(super)
		if !ok || len(fields) < 5 || len(last) < 3 {
			continue
		}
		h := Hierarchy{Mount: fields[4]}
		switch {
		case last[0] == "cgroup2" && h.Mount == Root:
			v2 = []Hierarchy{h}
		case last[0] == "cgroup" && filepath.Dir(h.Mount) == Root:
			h.Controllers = controllers(last[2])
			// A later mount hides an earlier one.
			v1 = append(slices.DeleteFunc(v1, func(o Hierarchy) bool { return o.Mount == h.Mount }), h)
		}
	}
	if len(v2) > 0 {
		return v2
	}
	return v1
}

// controllers picks, from a version 1 hierarchy's options, what names it.
func controllers(options string) string {
	var names []string
	for o := range strings.SplitSeq(options, ",") {
		switch {
		case slices.Contains([]string{"rw", "ro", "xattr", "noprefix", "clone_children", "cpuset_v2_mode", "favordynmods", "nofavordynmods"}, o),
			strings.HasPrefix(o, "release_agent="):
		default:
			names = append(names, o)
		}
	}
	return strings.Join(names, ",")
}
