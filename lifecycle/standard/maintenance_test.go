package standard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// maintain begins a maintenance and returns its holder's ID.
func (s *shop) maintain(l *lifecycle.Lifecycle) string {
	s.t.Helper()
	holder := lease.NewHolder()
	st, err := l.StartMaintenance(s.t.Context(), lifecycle.MaintenanceRequest{Holder: holder, Reason: "move the database"})
	if err != nil || !st.Held || st.Mode != lease.ModeMaintain || !st.Expires.IsZero() || st.Holder != holder {
		s.t.Fatalf("the maintenance begins as %+v, %v", st, err)
	}
	return holder
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	l := s.lifecycle(cfg)
	s.reconcile(cfg)
	holder := s.maintain(l)
	if st, err := l.StartMaintenance(t.Context(), lifecycle.MaintenanceRequest{Holder: holder, Reason: "again"}); err != nil || st.Purpose != "move the database" {
		t.Errorf("begun twice: %+v, %v", st, err)
	}

	// Nobody else delivers, and it is said who, why, and how it ends.
	s.currency("NOK")
	fenced := func(what string, err error) {
		t.Helper()
		var blocked *lifecycle.BlockedError
		if !errors.As(err, &blocked) || blocked.Mode != "maintain" || blocked.Holder != "test@localhost" ||
			!strings.Contains(err.Error(), "move the database") || !strings.Contains(err.Error(), "maintenance off") {
			t.Errorf("%s under a maintenance: %v", what, err)
		}
	}
	_, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	fenced("reconcile", err)
	_, err = l.StartMaintenance(t.Context(), lifecycle.MaintenanceRequest{Holder: lease.NewHolder(), Reason: "mine"})
	fenced("another maintenance", err)
	_, err = l.Rollback(t.Context(), lifecycle.RollbackRequest{Repository: s.repository()})
	if err == nil {
		t.Error("a rollback under a maintenance of somebody else succeeds")
	}

	// What was edited by hand keeps it on.
	settings := devtest.Client(t, cfg).CoreV1().ConfigMaps(s.namespace)
	if _, err := settings.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"currency":"USD"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder})
	if !errors.Is(err, lifecycle.ErrUnhealthy) || !strings.Contains(err.Error(), "settings drifted") {
		t.Errorf("the maintenance of a drifted target ends with %v", err)
	}
	if st := s.status(cfg); st.Lease.Holder != holder {
		t.Errorf("the lease is %+v", st.Lease)
	}

	// Its holder delivers, and ends it.
	res, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Maintenance: holder, Force: true})
	if err != nil {
		t.Fatalf("reconcile under the maintenance: %v", err)
	}
	s.sells(cfg, "NOK")
	if st := s.status(cfg); !st.IsLive() || st.Lease.Holder != holder || st.Live.ID != res.Receipt {
		t.Errorf("after the delivery: %+v", st)
	}
	if _, err := l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder}); err != nil {
		t.Errorf("end: %v", err)
	}
	if st := s.status(cfg); st.Lease.Held {
		t.Errorf("afterwards the lease is %+v", st.Lease)
	}
	_, err = l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder})
	if !errors.Is(err, lease.ErrLost) {
		t.Errorf("ended twice: %v", err)
	}
	_, err = l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Maintenance: holder})
	if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "is over") {
		t.Errorf("reconcile under a maintenance that is over: %v", err)
	}
}

// Of two deliveries under one maintenance the later one goes on alone.
func TestMaintenanceHasOneWriter(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	s.reconcile(cfg)
	l := s.lifecycle(cfg)
	holder := s.maintain(l)
	s.currency("NOK")
	request := lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Maintenance: holder}
	first := request
	var second error
	first.Events = func(e lifecycle.Event) {
		if e.Type == lifecycle.EventAttemptRecorded {
			_, second = l.Reconcile(context.WithoutCancel(t.Context()), request)
		}
	}
	_, err := l.Reconcile(t.Context(), first)
	if !errors.Is(err, lifecycle.ErrBlocked) || second != nil {
		t.Errorf("the first comes to %v, the second to %v", err, second)
	}
	if st := s.status(cfg); !st.IsLive() {
		t.Errorf("the target is %+v", st)
	}
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "      nodeSelector: {no: such-node}\n")})
	s.commit("Ask for a node that is not there")
	request.Commit, request.Timeout = s.head(), 1
	if _, err := l.Reconcile(t.Context(), request); !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Fatalf("the delivery that fails: %v", err)
	}
	if _, err := l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder}); !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Errorf("the maintenance of a target that is not live ends with %v", err)
	}
	if _, err := l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder, Force: true}); err != nil {
		t.Errorf("given up: %v", err)
	}
}
