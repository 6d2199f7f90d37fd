package devtest

import (
	"context"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// ContextVariable is the environment variable that names the context of an existing cluster to use.
const ContextVariable = "PHAROS_TEST_CONTEXT"

// shared starts the cluster of this process. It is bound to no test's context, since it serves all of them.
var shared = sync.OnceValues(func() (*devenv.Cluster, error) {
	return devenv.Start(context.Background(), devenv.Options{Output: os.Stderr})
})

// Cluster returns the cluster that the tests of this process share: one that it starts, or the context that
// PHAROS_TEST_CONTEXT names. A test must neither stop nor restart it: see [OwnCluster].
func Cluster(t testing.TB) *devenv.Cluster {
	t.Helper()
	if name := os.Getenv(ContextVariable); name != "" {
		c, err := devenv.Existing(name, t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", ContextVariable, err)
		}
		return c
	}
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// OwnCluster starts a cluster for this test alone, which may kill and restart it, and stops it at the test's end.
func OwnCluster(t testing.TB, o devenv.Options) *devenv.Cluster {
	t.Helper()
	c, err := devenv.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Client returns a client for the configuration.
func Client(t testing.TB, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
