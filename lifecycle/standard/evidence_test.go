package standard_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// TestLiveWithoutEvidence takes away what says that the target was live. The
// pointers alone do not make it so: nothing is left to compare objects with.
func TestLiveWithoutEvidence(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	outcomes := metav1.ListOptions{LabelSelector: "pharos.dev/receipt-part=outcome"}
	if err := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, outcomes); err != nil {
		t.Fatal(err)
	}
	st := s.status(c.Config())
	if st.IsLive() || len(st.Unreadable) != 1 || !strings.Contains(st.Unreadable[0].What, "outcomes") {
		t.Errorf("status %+v, want that the outcomes cannot be read", st.Unreadable)
	}
	if res := s.reconcile(c.Config()); res.Plan.Decision != lifecycle.DecideDeliver {
		t.Errorf("decision %s: %v", res.Plan.Decision, res.Plan.Reasons)
	}
	if st := s.status(c.Config()); !st.IsLive() {
		t.Errorf("afterwards: %+v", st)
	}
}

// TestRecordsOfAnotherCluster has a target's records come with it from another
// cluster, as a restored backup brings them.
func TestRecordsOfAnotherCluster(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.reconcile(c.Config())
	cfg, err := standard.Config(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cluster = elsewhere{cfg.Cluster}
	l, err := lifecycle.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	st, err := l.Status(t.Context())
	if err != nil || st.IsLive() || st.Applied != nil || st.Live != nil || len(st.Unreadable) != 1 || !strings.Contains(st.Unreadable[0].Err.Error(), "another cluster") {
		t.Fatalf("status %+v, %v; want that the applied receipt is of another cluster", st, err)
	}
	request := lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}
	if _, err := l.Reconcile(t.Context(), request); !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "another cluster") || !strings.Contains(err.Error(), "--adopt") {
		t.Fatalf("reconcile: %v, want an ErrBlocked that names the way out", err)
	}
	request.Adopt = true
	adopted, err := l.Reconcile(t.Context(), request)
	if err != nil || adopted.Plan.Decision != lifecycle.DecideDeliver || adopted.Receipt == first.Receipt {
		t.Fatalf("adopt: %+v, %v", adopted, err)
	}
	if st, err := l.Status(t.Context()); err != nil || !st.IsLive() || st.Live.ID != adopted.Receipt {
		t.Errorf("afterwards: %+v, %v", st, err)
	}
}
