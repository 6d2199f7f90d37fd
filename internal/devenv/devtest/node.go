package devtest

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// Node returns the cluster with a real node that the tests of this process share while they need it. One process of the machine
// has it at a time: others wait, so that it is stopped when no test has used it for a while, and started anew for the next.
// Where no node can run, the test is skipped with the reason, or fails where the environment says CI=true. A test must not
// stop it: see [OwnNode].
func Node(t testing.TB) *devenv.Node {
	t.Helper()
	NeedNode(t)
	n, err := theNode.use(t)
	if err != nil {
		t.Fatal(err)
	}
	NeedContainerd(t, n.Config())
	return n
}

// OwnNode starts a cluster with a real node for this test alone, and stops it at the test's end. In a process whose tests
// also call [Node] it waits until none of them uses that one.
func OwnNode(t testing.TB) *devenv.Node {
	t.Helper()
	NeedNode(t)
	n, err := devenv.StartNode(t.Context(), devenv.NodeOptions{Output: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// NeedNode skips the test with the reason where no real node can run, and fails it where the environment says CI=true.
func NeedNode(t testing.TB) {
	t.Helper()
	if err := devenv.NodeAvailable(); err != nil {
		Unavailable(t, err.Error())
	}
}

// Unavailable skips the test for a reason that lies in the machine, and fails it where the environment says CI=true: a
// machine that tests changes has to have what the tests need.
func Unavailable(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("with CI=true no test may be left out, but %s", reason)
	}
	t.Skip(reason)
}

// NeedContainerd fails the test unless the cluster has nodes and all of them run containers with containerd: a test that
// claims something of pods means nothing on a hollow node.
func NeedContainerd(t testing.TB, config *rest.Config) {
	t.Helper()
	nodes, err := Client(t, config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) == 0 {
		t.Fatal("the cluster has no node")
	}
	for _, node := range nodes.Items {
		if version := node.Status.NodeInfo.ContainerRuntimeVersion; !strings.HasPrefix(version, "containerd://") {
			t.Fatalf("node %s runs containers with %q, want containerd", node.Name, version)
		}
	}
}
