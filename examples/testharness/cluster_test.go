package testharness

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// cluster is the configuration of a cluster to test on. Yours comes from a kubeconfig
// (clientcmd), from inside of a pod (rest.InClusterConfig), or from envtest.
func cluster(t testing.TB) *rest.Config {
	t.Helper()
	return devtest.Cluster(t).Config()
}
