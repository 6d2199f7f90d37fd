package restore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// With force anybody ends a session from anywhere, and the holder finds out who did.
func TestForce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.restorer(b.cluster.Config(), nil)
	if _, err := r.Restore(t.Context(), restore.Request{Force: true}); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	b.takenOver(time.Hour, 0, "api", "web")
	report, err := r.Restore(t.Context(), restore.Request{})
	if held, ok := errors.AsType[*lease.HeldError](err); !ok || held.State.User != "ann@desk" || report.Session != "S1" {
		t.Errorf("got %+v, %v", report, err)
	}
	b.diverted()
	report, err = r.Restore(t.Context(), restore.Request{Force: true, Reason: "her laptop is gone"})
	if err != nil || !report.Done || len(report.Workloads) != 2 || report.Reason != "her laptop is gone" {
		t.Errorf("got %+v, %v", report, err)
	}
	b.whole(false)
	if err := b.held.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@lab") || !strings.Contains(err.Error(), "her laptop is gone") {
		t.Errorf("got %v", err)
	}
}

// A dry run says what would be done, and writes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.restorer(b.cluster.Config(), nil)
	if _, err := r.Restore(t.Context(), restore.Request{DryRun: true}); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	b.takenOver(time.Hour, 0, "api", "web")
	if _, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "web", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/command","value":["sh"]}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, b.cluster)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: toSee})
	report, err := b.restorer(config, nil).Restore(t.Context(), restore.Request{DryRun: true, Force: true, Reason: "a look"})
	if err != nil || report.Done || report.Diverted != 2 || len(report.Workloads) != 2 || report.Session != "S1" || report.User != "ann@desk" || report.Lease.User != "ann@desk" || !report.Lease.Held {
		t.Errorf("got %+v, %v", report, err)
	}
	for i, kept := range []int{0, 1} {
		if w := report.Workloads[i]; w.Outcome != divert.OutcomeRestored || len(w.Kept) != kept || w.Restored[0] != "/image" {
			t.Errorf("got %+v", w)
		}
	}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "get" && e.Resource != "selfsubjectaccessreviews" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
	b.diverted()
	if err := b.held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []restore.Config{{}, {By: "b", Lease: (*lease.Manager)(nil)}} {
		if _, err := restore.New(c); !errors.Is(err, restore.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}
