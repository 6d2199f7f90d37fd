package devtest

import (
	"context"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// sharedArgoCD starts the Argo CD of this process, beside the cluster that its tests share if that is one of its own.
var sharedArgoCD = sync.OnceValues(func() (*devenv.ArgoCD, error) {
	start := shared
	if os.Getenv(ContextVariable) != "" {
		start = func() (*devenv.Cluster, error) {
			return devenv.Start(context.Background(), devenv.Options{Output: os.Stderr})
		}
	}
	c, err := start()
	if err != nil {
		return nil, err
	}
	return devenv.StartArgoCD(context.Background(), c, devenv.ArgoCDOptions{Output: os.Stderr})
})

// ArgoCD returns the Argo CD that the tests of this process share; [devenv.ArgoCD.Cluster] is its cluster, which is the one
// of [Cluster], with its hollow node, unless that is an existing one. A test must neither stop it nor touch its
// controller: see [OwnArgoCD]. Applications and namespaces want names of their own. If the test fails, what Argo CD
// complained of meanwhile is in its output.
func ArgoCD(t testing.TB) *devenv.ArgoCD {
	t.Helper()
	return argoCD(t, func(testing.TB) (*devenv.ArgoCD, error) { return sharedArgoCD() })
}

// NodeArgoCD is [ArgoCD] beside the cluster of [Node], where pods run. Where no node can run, the test is skipped, or
// fails with CI=true.
func NodeArgoCD(t testing.TB) *devenv.ArgoCD {
	t.Helper()
	NeedNode(t)
	return argoCD(t, theNode.useArgoCD)
}

// OwnArgoCD starts an Argo CD for this test alone beside a cluster that has none, such as one of [OwnCluster], and stops
// it at the test's end.
func OwnArgoCD(t testing.TB, c *devenv.Cluster) *devenv.ArgoCD {
	t.Helper()
	a, err := devenv.StartArgoCD(t.Context(), c, devenv.ArgoCDOptions{Output: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	})
	showComplaints(t, a)
	return a
}

func argoCD(t testing.TB, start func(testing.TB) (*devenv.ArgoCD, error)) *devenv.ArgoCD {
	t.Helper()
	a, err := start(t)
	if err != nil {
		t.Fatal(err)
	}
	showComplaints(t, a)
	return a
}

// complaint is a line of Argo CD's logs that is of interest when a test fails.
var complaint = regexp.MustCompile(`\blevel=(warning|error|fatal|panic)\b`)

// complaintsShown is how many lines of each log are shown: the last ones.
const complaintsShown = 30

// showComplaints has a test that fails show what Argo CD complained of from now on.
func showComplaints(t testing.TB, a *devenv.ArgoCD) {
	t.Helper()
	begin := map[string]int64{}
	for name, path := range a.Logs() {
		if info, err := os.Stat(path); err == nil {
			begin[name] = info.Size()
		}
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for name, path := range a.Logs() {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Logf("the log of %s: %v", name, err)
				continue
			}
			var lines []string
			for line := range strings.Lines(string(b[min(begin[name], int64(len(b))):])) {
				if complaint.MatchString(line) {
					lines = append(lines, line)
				}
			}
			if len(lines) > 0 {
				t.Logf("%s complained:\n%s", name, strings.Join(lines[max(0, len(lines)-complaintsShown):], ""))
			}
		}
	})
}
