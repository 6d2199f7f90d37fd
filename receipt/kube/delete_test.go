package kube_test

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/receipt"
)

// What came in the place of what was looked at is not deleted: neither another
// object of the name, nor one that changed.
func TestDeleteNothingElse(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	config, fault := faulty(t, c.Config(), faultproxy.Rule{Method: http.MethodDelete, Times: 1, Do: faultproxy.Stall()})
	s := open(t, config, ns, "devbox")
	id, err := s.Put(t.Context(), record("devbox", 1))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Delete(t.Context(), id) }()
	<-fault.Reached()
	name := "pharos-devbox." + id.Hex()
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	direct := open(t, c.Config(), ns, "devbox")
	if _, err := direct.Put(t.Context(), record("devbox", 1)); err != nil {
		t.Fatal(err)
	}
	fault.Release()
	if err := <-done; !apierrors.IsConflict(err) {
		t.Errorf("Delete: %v, want a conflict", err)
	}
	if _, err := direct.Get(t.Context(), id); err != nil {
		t.Errorf("what came in its place: %v", err)
	}
}

// A deletion whose answer is lost, or whose server is away for a moment, is done.
func TestDeleteFaults(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	for name, rule := range map[string]faultproxy.Rule{
		"429":         {Method: http.MethodDelete, Times: 1, Do: faultproxy.Answer(http.StatusTooManyRequests)},
		"500":         {Method: http.MethodDelete, Times: 1, Do: faultproxy.Answer(http.StatusInternalServerError)},
		"cut":         {Method: http.MethodDelete, Times: 1, Do: faultproxy.Cut()},
		"no answer":   {Method: http.MethodDelete, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()},
		"list is cut": {Method: http.MethodGet, Times: 1, Do: faultproxy.Cut()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := devtest.Namespace(t, c)
			direct := open(t, c.Config(), ns, "devbox")
			id, err := direct.Put(t.Context(), record("devbox", 1))
			if err != nil {
				t.Fatal(err)
			}
			if err := direct.AddOutcome(t.Context(), id, outcome(1)); err != nil {
				t.Fatal(err)
			}
			config, fault := faulty(t, c.Config(), rule)
			if err := open(t, config, ns, "devbox").Delete(t.Context(), id); err != nil || fault.Hits() != 1 {
				t.Errorf("Delete after %d faults: %v", fault.Hits(), err)
			}
			all, err := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "pharos.dev/receipts-of=devbox"})
			if err != nil || len(all.Items) != 0 {
				t.Errorf("%d objects are left (%v)", len(all.Items), err)
			}
		})
	}
}

// With pointers that cannot be read, nothing is known not to be needed; and who may
// not delete is told so.
func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	s := open(t, c.Config(), ns, "devbox")
	ids := []receipt.ID{}
	for n := range 2 {
		id, err := s.Put(t.Context(), record("devbox", n))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	p, err := s.SetPointers(t.Context(), receipt.Pointers{}, receipt.Pointers{Applied: ids[0]})
	if err != nil {
		t.Fatal(err)
	}
	reader, _ := devtest.User(t, c, ns, devtest.Rights{Namespaced: reading})
	if err := open(t, reader, ns, "devbox").Delete(t.Context(), ids[1]); !apierrors.IsForbidden(err) {
		t.Errorf("Delete by a reader: %v, want forbidden", err)
	}
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	m, err := maps.Get(t.Context(), "pharos-devbox", metav1.GetOptions{})
	if err != nil || m.ResourceVersion != p.Version {
		t.Fatal(m.ResourceVersion, err)
	}
	m.Data = map[string]string{"applied": "main"}
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), ids[1]); !errors.Is(err, receipt.ErrInUse) {
		t.Errorf("Delete beside damaged pointers: %v, want ErrInUse", err)
	}
	if _, err := s.Get(t.Context(), ids[1]); err != nil {
		t.Error(err)
	}
}
