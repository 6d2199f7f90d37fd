package devtest

import (
	"context"
	"os"
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

// sharedNodeArgoCD starts the Argo CD beside the real node of this process.
var sharedNodeArgoCD = sync.OnceValues(func() (*devenv.ArgoCD, error) {
	n, err := sharedNode()
	if err != nil {
		return nil, err
	}
	return devenv.StartArgoCD(context.Background(), n.Cluster, devenv.ArgoCDOptions{Output: os.Stderr})
})

// ArgoCD returns the Argo CD that the tests of this process share; [devenv.ArgoCD.Cluster] is its cluster, which is the one
// of [Cluster], with its hollow node, unless that is an existing one. A test must neither stop it nor touch its
// controller: see [OwnArgoCD]. Applications and namespaces want names of their own. If the test fails, what Argo CD
// complained of meanwhile is in its output.
func ArgoCD(t testing.TB) *devenv.ArgoCD {
	t.Helper()
	return argoCD(t, sharedArgoCD)
}

// NodeArgoCD is [ArgoCD] beside the cluster of [Node], where pods run. Where no node can run, the test is skipped, or
// fails with CI=true.
func NodeArgoCD(t testing.TB) *devenv.ArgoCD {
	t.Helper()
	Node(t)
	return argoCD(t, sharedNodeArgoCD)
}

// OwnArgoCD starts an Argo CD for this test alone beside a cluster that has none, such as one of [OwnCluster], and stops
// it at the test's end.
func OwnArgoCD(t testing.TB, c *devenv.Cluster) *devenv.ArgoCD {
	t.Helper()
	a := argoCD(t, func() (*devenv.ArgoCD, error) {
		return devenv.StartArgoCD(t.Context(), c, devenv.ArgoCDOptions{Output: os.Stderr})
	})
	return a
}

func argoCD(t testing.TB, start func() (*devenv.ArgoCD, error)) *devenv.ArgoCD {
	t.Helper()
	a, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return a
}
