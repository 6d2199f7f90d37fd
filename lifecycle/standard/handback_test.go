package standard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// borrow borrows the target, or what is named of it.
func (s *shop) borrow(cfg *rest.Config, covers ...string) *lease.Held {
	s.t.Helper()
	held, err := s.lifecycle(cfg).Borrow(s.t.Context(), lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "a look", Covers: covers})
	if err != nil {
		s.t.Fatalf("borrow: %v", err)
	}
	return held
}

// edit changes what is live by hand.
func (s *shop) edit(cfg *rest.Config, currency string) {
	s.t.Helper()
	_, err := devtest.Client(s.t, cfg).CoreV1().ConfigMaps(s.namespace).Patch(s.t.Context(), "settings", types.MergePatchType,
		[]byte(`{"data":{"currency":"`+currency+`"}}`), metav1.PatchOptions{FieldManager: "by-hand"})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Where Pharos itself applies, nothing puts back what was edited, which is said.
func TestHandBack(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	l := s.lifecycle(cfg)
	handBack := func(holder string) (lifecycle.HandBackResult, []lifecycle.EventType, error) {
		var types []lifecycle.EventType
		res, err := l.HandBack(t.Context(), lifecycle.HandBackRequest{Holder: holder, Events: func(e lifecycle.Event) { types = append(types, e.Type) }})
		return res, types, err
	}
	if res, _, err := handBack(s.borrow(cfg).Holder()); err != nil || res.Lease.Purpose != "a look" {
		t.Errorf("before anything was delivered: %+v, %v", res, err)
	}
	delivered := s.reconcile(cfg)

	held := s.borrow(cfg)
	res, types, err := handBack(held.Holder())
	if want := []lifecycle.EventType{lifecycle.EventStarted, lifecycle.EventHealthy, lifecycle.EventLeaseReleased, lifecycle.EventFinished}; err != nil || !slices.Equal(types, want) ||
		!res.Status.IsLive() || res.Status.Live.ID != delivered.Receipt {
		t.Errorf("nothing was changed: %+v, %v, %v", res, types, err)
	}
	if _, _, err = handBack(held.Holder()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("handed back twice: %v", err)
	}

	held = s.borrow(cfg)
	s.edit(cfg, "USD")
	_, types, err = handBack(held.Holder())
	if _, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || !errors.Is(err, lifecycle.ErrUnhealthy) || slices.Contains(types, lifecycle.EventHealthy) {
		t.Fatalf("with an edit: %v, %v", types, err)
	}
	for _, want := range []string{"ConfigMap " + s.namespace + "/settings drifted: ", "kubectl pharos reconcile " + string(s.head().ID[:12]), "--force-conflicts"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if st := s.status(cfg); st.Lease.Held || st.GateErr != nil || len(st.Gate) > 0 {
		t.Errorf("afterwards: %+v", st)
	}
	if _, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Force: true}); err != nil {
		t.Fatal(err)
	}
	s.sells(cfg, "EUR")

	held = s.borrow(cfg)
	s.edit(cfg, "USD")
	res, err = l.HandBack(t.Context(), lifecycle.HandBackRequest{Holder: held.Holder(), NoWait: true})
	if err != nil || res.Status.Applied != nil {
		t.Errorf("without a look: %+v, %v", res, err)
	}

	// What is not borrowed stays.
	holder := s.maintain(l)
	if _, _, err := handBack(holder); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "maintain") {
		t.Errorf("a maintenance is handed back: %v", err)
	}
	if st := s.status(cfg); st.Lease.Holder != holder {
		t.Errorf("the maintenance is over: %+v", st.Lease)
	}
	if _, err := l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder, Force: true}); err != nil {
		t.Error(err)
	}

	held = s.borrow(cfg)
	if _, err := s.breakIt(cfg, held.Holder()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := handBack(held.Holder()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@desk broke it") {
		t.Errorf("after it was broken: %v", err)
	}
}

// A target that was handed back in its holder's stead is looked at without a lease.
func TestAwaitReturn(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	l := s.lifecycle(cfg)
	s.reconcile(cfg)
	if res, err := l.AwaitReturn(t.Context(), lifecycle.HandBackRequest{}); err != nil || !res.Status.IsLive() {
		t.Errorf("nothing was changed: %+v, %v", res, err)
	}
	s.edit(cfg, "USD")
	_, err := l.AwaitReturn(t.Context(), lifecycle.HandBackRequest{})
	if _, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || !strings.Contains(err.Error(), "ConfigMap "+s.namespace+"/settings drifted: ") {
		t.Errorf("with an edit: %v", err)
	}
	if _, err := l.AwaitReturn(t.Context(), lifecycle.HandBackRequest{NoWait: true}); err != nil {
		t.Errorf("without a look: %v", err)
	}
}
