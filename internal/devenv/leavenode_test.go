//go:build linux

package devenv_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// nodeCgroup is the name of a node's cgroups.
const nodeCgroup = "pharos-devcluster-node"

// nodeLock is the file whose lock the process holds that has the machine's node.
const nodeLock = "/run/pharos-devcluster-node.lock"

// withoutNodes returns what traces finds while no process of the machine has a node: another test may be waiting for its
// turn.
func withoutNodes(t *testing.T, stateDir string) []string {
	t.Helper()
	lock, err := os.OpenFile(nodeLock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// Closing it gives the lock back.
	defer lock.Close()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
		if err == nil {
			return traces(t, stateDir)
		}
		if !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
	}
}

// traces lists what of a node is on the machine, beside its process: other processes, mounts, network namespaces, links,
// tables of the packet filter, cgroups and the state folder; stateDir is empty before the node has one.
func traces(t *testing.T, stateDir string) []string {
	t.Helper()
	var found []string
	note := func(what, which string) { found = append(found, what+" "+which) }
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		// A process may end while it is looked at.
		cgroup, _ := os.ReadFile(p + "/cgroup")
		command, _ := os.ReadFile(p + "/cmdline")
		if strings.Contains(string(cgroup), nodeCgroup) || names(string(command), stateDir) {
			note("process", p+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if names(line, stateDir) || strings.Contains(line, nodeCgroup) {
			note("mount", strings.TrimSpace(line))
		}
	}
	for _, dir := range []string{"/run/netns", "/run/containerd", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/cni", "/var/log/pods", "/opt/containerd"} {
		if _, err := os.Stat(dir); err == nil {
			note("folder", dir)
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		note("link", l.Name)
	}
	tables, err := exec.CommandContext(t.Context(), "/usr/sbin/nft", "list", "tables").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(tables)) {
		note("table", strings.TrimSpace(line))
	}
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == nodeCgroup {
			note("cgroup", path)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stateDir != "" {
		if _, err := os.Lstat(stateDir); !errors.Is(err, os.ErrNotExist) {
			note("state folder", stateDir)
		}
	}
	slices.Sort(found)
	return found
}

// names says whether the text has the state folder of a node.
func names(text, stateDir string) bool {
	return stateDir != "" && strings.Contains(text, stateDir)
}

// wantOnly waits until what is found of a node is what was found before it started.
func wantOnly(t *testing.T, before []string, stateDir string) {
	t.Helper()
	var after []string
	// The system removes links a moment after the last process of their namespace.
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		after = withoutNodes(t, stateDir)
		return slices.Equal(before, after), nil
	})
	if err != nil {
		t.Errorf("left behind:\n%s\nbefore there was:\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// runPod has a pod run on the node, so that there is something to leave behind.
func runPod(t *testing.T, n *devenv.Node) {
	t.Helper()
	pods := client(t, n.Cluster).CoreV1().Pods("default")
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "runs"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: n.Busybox(), Command: []string{"sleep", "86400"},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, "runs", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	if err != nil {
		t.Fatalf("wait for a pod to run: %v", err)
	}
}

func TestNodeLeavesNothing(t *testing.T) {
	devtest.NeedNode(t)
	before := withoutNodes(t, "")

	n := devtest.OwnNode(t)
	runPod(t, n)
	during := traces(t, n.StateDir())
	for _, what := range []string{"process", "cgroup", "state folder"} {
		if !slices.ContainsFunc(during, func(s string) bool { return strings.HasPrefix(s, what+" ") }) {
			t.Errorf("while it runs, no %s is found of it: what finds nothing cannot say that nothing is left", what)
		}
	}
	for _, err := range []error{n.Kill(), n.Restart(t.Context()), n.Resume(t.Context())} {
		if !errors.Is(err, devenv.ErrHasNode) {
			t.Errorf("got %v, want ErrHasNode", err)
		}
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, before, n.StateDir())
}

func TestKilledParentLeavesNothingOfANode(t *testing.T) {
	devtest.NeedNode(t)
	before := withoutNodes(t, "")
	p, kill := startParent(t, withNode)
	kill()
	awaitGone(t, p.PID)
	wantOnly(t, before, p.StateDir)
	wantClosed(t, p.Server)
}

func TestNextNodeSweepsWhatAHardKillLeft(t *testing.T) {
	devtest.NeedNode(t)
	before := withoutNodes(t, "")
	p, kill := startParent(t, withNode)
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill()
	// The system kills all else of it.
	awaitGone(t, p.InitPID)
	wantClosed(t, p.Server)

	// This start sweeps, unless another process has had its turn in between.
	n := devtest.OwnNode(t)
	if _, err := os.Lstat(p.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next start does not remove the folder of the killed one: %v", err)
	}
	runPod(t, n)
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, before, n.StateDir())
}

func TestSecondNodeWaits(t *testing.T) {
	n := devtest.OwnNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Told to wait, the second one is given up.
	_, err := devenv.StartNode(ctx, devenv.NodeOptions{Output: writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), "waiting for another process that has the machine's node") {
			cancel()
		}
		return len(b), nil
	})})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	// The first one is not disturbed.
	if _, err := client(t, n.Cluster).CoreV1().Nodes().Get(t.Context(), n.Name(), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
