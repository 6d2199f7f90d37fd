//go:build linux

package cgroups

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mountinfo string
		want      []Hierarchy
	}{
		"version 2": {
			"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
			[]Hierarchy{{Mount: "/sys/fs/cgroup"}},
		},
		"version 1": {
			"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
				"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw,relatime master:1 - cgroup cgroup rw,memory,release_agent=/sbin/agent\n" +
				"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
			[]Hierarchy{{"/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct"}, {"/sys/fs/cgroup/memory", "memory"}, {"/sys/fs/cgroup/systemd", "name=systemd"}},
		},
		"mixed: the controllers are in version 1": {
			"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			[]Hierarchy{{"/sys/fs/cgroup/cpu", "cpu"}},
		},
		"mounted twice": {
			"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
			[]Hierarchy{{"/sys/fs/cgroup/cpu", "cpu"}},
		},
		"elsewhere":   {"32 31 0:29 / /mnt/cgroup rw - cgroup2 cgroup2 rw\n33 31 0:30 / /mnt/cpu rw - cgroup cgroup rw,cpu\n", nil},
		"not a table": {"a b - c\n\n-\n - \nx", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parse(tt.mountinfo); !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
