package follow_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/follow"
)

const patience = 3 * time.Minute

// seen is what a follower said last.
type seen struct {
	mu      sync.Mutex
	names   []string
	failed  int
	unknown error
	changed chan struct{}
}

func (s *seen) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *seen) await(t *testing.T, want func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		ok := want()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.changed:
		case <-late:
			t.Fatalf("seen: %q, %v", s.names, s.unknown)
		}
	}
}

// What is followed is known again after the API server was away.
func TestFollowsAcrossARestart(t *testing.T) {
	t.Parallel()
	cluster := devtest.OwnCluster(t, devenv.Options{NoNode: true})
	client := devtest.Client(t, cluster.Config())
	ns := devtest.Namespace(t, cluster)
	create := func(name string, labels map[string]string) {
		t.Helper()
		if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	wanted := map[string]string{"app": "api"}
	create("b", wanted)
	create("other", nil)

	rest, err := follow.Client(cluster.Config(), corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		follow.Follow(ctx, follow.Source{
			Client: rest, Resource: "configmaps", Namespace: ns, Selector: "app=api",
			Failed: func(err error) {
				s.set(func() {
					if s.unknown = err; err != nil {
						s.failed++
					}
				})
			},
		}, func(all []*corev1.ConfigMap) {
			s.set(func() {
				s.names = nil
				for _, m := range all {
					s.names = append(s.names, m.Name)
				}
			})
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })

	are := func(want ...string) func() bool { return func() bool { return slices.Equal(s.names, want) } }
	s.await(t, are("b"))
	create("a", wanted)
	s.await(t, are("a", "b"))
	if err := cluster.Kill(); err != nil {
		t.Fatal(err)
	}
	s.await(t, func() bool { return s.unknown != nil })
	if err := cluster.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await(t, func() bool { return s.unknown == nil })
	create("c", wanted)
	s.await(t, are("a", "b", "c"))
	if err := client.CoreV1().ConfigMaps(ns).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await(t, are("a", "c"))
}
