package devtest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

func TestNamedContextIsUsedInstead(t *testing.T) {
	own := devtest.Cluster(t)
	t.Setenv("KUBECONFIG", own.Kubeconfig())
	t.Setenv(devtest.ContextVariable, own.ContextName())
	named := devtest.Cluster(t)
	if named == own || named.Started() {
		t.Error("the test's own cluster was used, not the named context")
	}
	if _, err := devtest.Client(t, named.Config()).CoreV1().Namespaces().Get(t.Context(), devtest.Namespace(t, named), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestTestsShareACluster(t *testing.T) {
	t.Parallel()
	if a, b := devtest.Cluster(t), devtest.Cluster(t); a != b {
		t.Error("the second call gives another cluster")
	}
}
