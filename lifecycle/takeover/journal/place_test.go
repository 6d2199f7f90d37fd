package journal_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// place is a namespace of its own on the shared cluster.
type place struct {
	*testing.T
	cluster   *devenv.Cluster
	namespace string
}

func newPlace(t *testing.T) place {
	t.Helper()
	c := devtest.Cluster(t)
	return place{T: t, cluster: c, namespace: devtest.Namespace(t, c)}
}

func (p place) store(config *rest.Config, change func(*journal.StoreConfig)) *journal.Store {
	p.Helper()
	c := journal.StoreConfig{REST: config, Namespace: p.namespace, Target: "devbox"}
	if change != nil {
		change(&c)
	}
	s, err := journal.NewStore(c)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p place) created(s *journal.Store) journal.Session {
	p.Helper()
	session, err := s.Create(p.Context(), document(p.namespace))
	if err != nil {
		p.Fatal(err)
	}
	return session
}

// object is the Secret.
func (p place) object() *corev1.Secret {
	p.Helper()
	o, err := devtest.Client(p, p.cluster.Config()).CoreV1().Secrets(p.namespace).Get(p.Context(), "pharos-devbox.takeover", metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return o
}

// patch changes the Secret as somebody else.
func (p place) patch(patch string) {
	p.Helper()
	_, err := devtest.Client(p, p.cluster.Config()).CoreV1().Secrets(p.namespace).Patch(p.Context(), "pharos-devbox.takeover", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "ann"})
	if err != nil {
		p.Fatal(err)
	}
}
