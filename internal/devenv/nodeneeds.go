package devenv

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// NodeUnavailableError says why a real node cannot run on this machine.
type NodeUnavailableError struct {
	// Reasons are sentences without a full stop, such as "runc is not installed (Debian package runc)".
	Reasons []string
}

// Error implements error.
func (e *NodeUnavailableError) Error() string {
	return "a real node cannot run here: " + strings.Join(e.Reasons, "; ")
}

// need is a file of a Debian package, by the paths where it may be, or a program to be found in PATH.
type need struct {
	program string
	paths   []string
	debian  string
}

// systemPath is where the programs of Debian packages are.
var systemPath = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"}

var nodeNeeds = []need{
	{program: "runc", paths: in(systemPath, "runc"), debian: "runc"},
	{program: "the CNI plugin ptp", paths: []string{"/usr/lib/cni/ptp"}, debian: "containernetworking-plugins"},
	{program: "nft", paths: in(systemPath, "nft"), debian: "nftables"},
	{program: "busybox", paths: in(systemPath, "busybox"), debian: "busybox-static"},
	{program: "git-http-backend", paths: []string{"/usr/lib/git-core/git-http-backend"}, debian: "git"},
}

func in(dirs []string, name string) []string {
	var paths []string
	for _, dir := range dirs {
		paths = append(paths, dir+"/"+name)
	}
	return paths
}

// find returns the first of the need's paths that is there.
func (n need) find() (string, bool) {
	for _, path := range n.paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// NodeAvailable returns nil where [StartNode] can work, and otherwise a *[NodeUnavailableError] with all reasons: a node
// needs Linux, root, cgroups, and some Debian packages.
func NodeAvailable() error {
	var reasons []string
	if runtime.GOOS != "linux" {
		return &NodeUnavailableError{Reasons: []string{"it needs Linux, and this is " + runtime.GOOS}}
	}
	if os.Geteuid() != 0 {
		reasons = append(reasons, "it needs root")
	}
	if entries, err := os.ReadDir("/sys/fs/cgroup"); err != nil || len(entries) == 0 {
		reasons = append(reasons, "no cgroups are mounted at /sys/fs/cgroup")
	}
	for _, n := range nodeNeeds {
		path, ok := n.find()
		switch {
		case !ok:
			reasons = append(reasons, n.program+" is not installed (Debian package "+n.debian+")")
		case n.debian == "busybox-static" && !static(path):
			reasons = append(reasons, path+" is not linked statically (Debian package "+n.debian+")")
		}
	}
	if _, err := exec.LookPath("ldd"); err != nil {
		reasons = append(reasons, "ldd is not in PATH (Debian package libc-bin)")
	}
	if len(reasons) > 0 {
		return &NodeUnavailableError{Reasons: reasons}
	}
	return nil
}
