package restore_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// What cannot be read is touched by nobody but who asks for it with force: then it is
// kept as a copy, the lease ends, and another takeover can begin.
func TestDamagedSession(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"truncated":   `{"stringData":{"session.json":"{\"version\":1,\"session\":\"S"}}`,
		"later":       `{"stringData":{"session.json":"{\"version\":2,\"new\":true}"}}`,
		"hand-edited": `{"stringData":{"session.json":"{\"version\":1,\"session\":\"S1\",\"target\":\"prod\"}"}}`,
		"empty":       `{"data":{"session.json":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.takenOver(time.Hour, 0, "api")
			secrets := b.admin.CoreV1().Secrets(b.namespace)
			if _, err := secrets.Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			was, err := secrets.Get(t.Context(), journal.ObjectName("devbox"), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := b.restorer(b.cluster.Config(), nil)
			// While somebody has the target it may be theirs, who know better.
			if report, err := r.Pass(t.Context()); !errors.Is(err, journal.ErrDamaged) || report.Reason != "" {
				t.Errorf("got %+v, %v", report, err)
			}
			for _, q := range []restore.Request{{}, {Force: true, DryRun: true}} {
				_, err := r.Restore(t.Context(), q)
				if !errors.Is(err, journal.ErrDamaged) || !strings.Contains(err.Error(), "kubectl pharos handback --force --reason TEXT") ||
					!strings.Contains(err.Error(), "kubectl get secret pharos-devbox.takeover --namespace "+b.namespace) {
					t.Errorf("got %v", err)
				}
			}
			if err := b.held.Check(t.Context()); err != nil {
				t.Error(err)
			}
			report, err := r.Restore(t.Context(), restore.Request{Force: true, Reason: "it cannot be read"})
			if err != nil || !report.Done || report.Aside == "" || !strings.Contains(report.Left, b.namespace+"/"+report.Aside) {
				t.Fatalf("got %+v, %v", report, err)
			}
			copied, err := secrets.Get(t.Context(), report.Aside, metav1.GetOptions{})
			if err != nil || !maps.EqualFunc(copied.Data, was.Data, slices.Equal) {
				t.Errorf("the copy is %+v, %v", copied, err)
			}
			if err := b.held.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "it cannot be read") {
				t.Errorf("got %v", err)
			}
			b.diverted()
			if _, err := r.Restore(t.Context(), restore.Request{Force: true}); !errors.Is(err, journal.ErrNone) {
				t.Errorf("got %v", err)
			}
			if report := b.pass(r); report.Reason != "" {
				t.Errorf("got %+v", report)
			}
		})
	}
}

// The controller says of what cannot be read that it is over, once nobody has the target.
func TestDamagedSessionIsOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api")
	b.release()
	_, err := b.admin.CoreV1().Secrets(b.namespace).Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(`{"stringData":{"session.json":"{"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := b.restorer(b.cluster.Config(), nil)
	if report, err := r.Pass(t.Context()); !errors.Is(err, journal.ErrDamaged) || report.Reason == "" {
		t.Errorf("got %+v, %v", report, err)
	}
	// It is not a delivery that is under way whose lease is taken away.
	held, err := b.leases.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver, User: "carl@ops"})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := r.Restore(t.Context(), restore.Request{Force: true}); err != nil || report.Aside == "" {
		t.Errorf("got %+v, %v", report, err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A sign of life that cannot be read ends nothing before the lease does.
func TestDamagedHeartbeat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.takenOver(time.Hour, time.Minute, "api")
	patch := func() {
		_, err := b.admin.CoreV1().Secrets(b.namespace).Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(`{"stringData":{"heartbeat":"noon"}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	patch()
	r := b.restorer(b.cluster.Config(), nil)
	if report := b.pass(r); report.Reason != "" || report.Session != "S1" {
		t.Errorf("got %+v", report)
	}
	if _, err := b.store.Beat(t.Context(), session); err != nil { // which mends it
		t.Error(err)
	}
	b.silent()
	b.diverted()
	patch()
	b.release()
	if report := b.pass(r); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}
