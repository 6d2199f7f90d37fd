package sweep_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// running is a Sweeper that runs.
type running struct {
	*sweep.Sweeper
	t    *testing.T
	stop func()
	// items are what was to end, in order.
	items chan sweep.Item
}

// start starts a Sweeper of the world's namespace.
func (w world) start(e *sweep.Ender, change ...func(*sweep.SweeperConfig)) *running {
	w.t.Helper()
	r := &running{t: w.t, items: make(chan sweep.Item, 10_000)}
	c := sweep.SweeperConfig{
		Resources: []string{"configmaps"}, Namespace: w.ns, Discover: time.Second,
		Observed: func(i sweep.Item, _ time.Duration) { r.items <- i },
	}
	for _, f := range change {
		f(&c)
	}
	s, err := sweep.NewSweeper(e, c)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			w.t.Errorf("it ended with %v", err)
		}
	}()
	r.Sweeper, r.stop = s, func() { cancel(); <-done }
	w.t.Cleanup(r.stop)
	return r
}

// longest is for what happens within seconds on an idle machine.
const longest = 3 * time.Minute

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for ended := time.After(longest); !is(); {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ended:
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// until waits for an object of this name to be looked at at its end.
func (r *running) until(name string, want sweep.Outcome) sweep.Item {
	r.t.Helper()
	for ended := time.After(longest); ; {
		select {
		case i := <-r.items:
			if i.Object.Name == name && i.Outcome == want {
				return i
			}
		case <-ended:
			r.t.Fatalf("%s was never %s: %+v", name, want, r.State())
		}
	}
}

// covers waits until everything is seen.
func (r *running) covers() {
	r.t.Helper()
	eventually(r.t, "everything is seen", func() bool { s := r.State(); return s.Objects != nil && len(s.Gaps) == 0 })
}

// lacks waits until there is a gap with these texts.
func (r *running) lacks(what, why string) {
	r.t.Helper()
	eventually(r.t, "a gap of "+what+": "+why, func() bool {
		return slices.ContainsFunc(r.State().Gaps, func(g sweep.Gap) bool { return g.What == what && strings.Contains(g.Why, why) })
	})
}

// in are annotations of an end after this time, by the second.
func in(d time.Duration) map[string]string {
	return map[string]string{keys.ExpiresAt: reaper.FormatTime(time.Now().Add(d))}
}

func (w world) annotate(name, key, value string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if _, err := w.admin.CoreV1().ConfigMaps(w.ns).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) delete(name string) {
	w.t.Helper()
	if err := w.admin.CoreV1().ConfigMaps(w.ns).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// deletions are those of ConfigMaps in the world's namespace, by name.
func (w world) deletions(a *devtest.Audit) map[string]devenv.AuditEvent {
	w.t.Helper()
	of := map[string]devenv.AuditEvent{}
	for _, e := range a.Events(w.t, func(e devenv.AuditEvent) bool { return e.Verb == "delete" && e.Namespace == w.ns && e.Code == 200 }) {
		of[e.Name] = e
	}
	return of
}

// Each object ends at its deadline and not before; what changes until then counts.
func TestSweepsAtTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	audit := devtest.RecordAudit(t, w.cluster)
	w.configMap(transient("over", past))
	w.configMap(transient("later", later()))
	w.configMap(transient("no-end", nil))
	soon := map[string]map[string]string{}
	for i := range 20 {
		name := fmt.Sprint("soon-", i)
		soon[name] = in(time.Duration(3+i%4) * time.Second)
		w.configMap(transient(name, soon[name]))
	}
	w.configMap(transient("extended", in(3*time.Second)))
	w.configMap(transient("retained", in(3*time.Second)))
	w.configMap(transient("again", in(3*time.Second)))
	r := w.start(w.ender())
	r.covers()
	w.annotate("extended", keys.ExpiresAt, later()[keys.ExpiresAt])
	if _, err := w.admin.CoreV1().ConfigMaps(w.ns).Patch(t.Context(), "retained", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+keys.Intent+`":"retained"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.delete("again")
	w.configMap(transient("again", later()))
	w.configMap(transient("late", in(8*time.Second)))
	r.until("late", sweep.Deleted)

	deleted := w.deletions(audit)
	if e, ok := deleted["again"]; ok && strings.Contains(e.UserAgent, "pharos") {
		t.Error("what was created anew was deleted")
	}
	delete(deleted, "again")
	want := maps.Clone(soon)
	want["over"], want["late"] = past, nil
	for name := range want {
		e, ok := deleted[name]
		if !ok {
			t.Errorf("%s was missed", name)
			continue
		}
		if uid, version := e.Preconditions(); uid == "" || version == "" {
			t.Errorf("%s was deleted without preconditions", name)
		}
		if at, err := reaper.ParseTime(soon[name][keys.ExpiresAt]); err == nil && e.Received.Before(at) {
			t.Errorf("%s was deleted at %s, and ends at %s", name, e.Received, at)
		}
		delete(deleted, name)
	}
	if len(deleted) > 0 {
		t.Errorf("it also deleted %v", deleted)
	}
	state := r.State().Objects["configmaps"]
	if state[sweep.ClassWaiting] != 3 || state[sweep.ClassRefused] != 1 {
		t.Errorf("it knows of %v", state)
	}
}
