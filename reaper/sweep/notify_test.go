package sweep_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

func (w world) events(namespace, uid string) []eventsv1.Event {
	w.t.Helper()
	list, err := w.admin.EventsV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return string(e.Regarding.UID) != uid || e.ReportingController != keys.Controller
	})
}

func soon(in time.Duration) map[string]string {
	return map[string]string{keys.ExpiresAt: reaper.FormatTime(time.Now().Add(in))}
}

func hourBefore(c *sweep.Config) { c.NotifyBefore, c.Instance = time.Hour, "test" }

// change edits a ConfigMap.
func (w world) change(m *corev1.ConfigMap, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	w.t.Helper()
	now, err := w.admin.CoreV1().ConfigMaps(w.ns).Get(w.t.Context(), m.Name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(now)
	if now, err = w.admin.CoreV1().ConfigMaps(w.ns).Update(w.t.Context(), now, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return now
}

func (w world) notify(e *sweep.Ender, m *corev1.ConfigMap, want sweep.Outcome) {
	w.t.Helper()
	res, err := e.Notify(w.t.Context(), configMaps, w.ns, m.Name, string(m.UID))
	if err != nil || res.Outcome != want {
		w.t.Errorf("%s: got %s, %v; want %s", m.Name, res.Outcome, err, want)
	}
}

func TestWarnsOnceOfEachDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.configMap(transient("soon", soon(30*time.Minute)))
	deadline := m.Annotations[keys.ExpiresAt]
	w.notify(w.ender(func(c *sweep.Config) { hourBefore(c); c.DryRun = true }), m, sweep.Waiting)
	if got := w.events(w.ns, string(m.UID)); len(got) != 0 {
		t.Fatalf("a dry run recorded %+v", got)
	}
	for range 3 { // each another process
		w.notify(w.ender(hourBefore), m, sweep.Waiting)
		w.pass(w.ender(hourBefore), sweep.PassOptions{}, "configmaps")
	}
	got := w.events(w.ns, string(m.UID))
	if len(got) != 1 || got[0].Type != corev1.EventTypeWarning || got[0].Reason != "EndsSoon" || !strings.Contains(got[0].Note, deadline) ||
		got[0].Regarding.Kind != "ConfigMap" || got[0].Regarding.APIVersion != "v1" || got[0].ReportingInstance != "test" {
		t.Fatalf("got %+v", got)
	}

	// The cluster forgets Events after an hour or so; that it was warned is not forgotten.
	if err := w.admin.EventsV1().Events(w.ns).Delete(t.Context(), got[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pass(w.ender(hourBefore), sweep.PassOptions{}, "configmaps")
	if got := w.events(w.ns, string(m.UID)); len(got) != 0 {
		t.Errorf("it was warned of the same end twice: %+v", got)
	}

	// Another end is warned of anew, once it is near.
	w.change(m, func(m *corev1.ConfigMap) { m.Annotations[keys.ExpiresAt] = soon(3 * time.Hour)[keys.ExpiresAt] })
	w.notify(w.ender(hourBefore), m, sweep.Waiting)
	if got := w.events(w.ns, string(m.UID)); len(got) != 0 {
		t.Errorf("it was warned too early: %+v", got)
	}
	w.change(m, func(m *corev1.ConfigMap) { m.Annotations[keys.ExpiresAt] = soon(20 * time.Minute)[keys.ExpiresAt] })
	w.pass(w.ender(hourBefore), sweep.PassOptions{}, "configmaps")
	if got := w.events(w.ns, string(m.UID)); len(got) != 1 {
		t.Errorf("of the new end it was not warned once: %+v", got)
	}
	if !w.exists(m) {
		t.Error("it is gone")
	}
}

func TestWarnsOfNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	retained := metav1.ObjectMeta{Name: "retained", Labels: map[string]string{keys.Intent: "retained"}, Annotations: soon(time.Minute)}
	for _, tt := range []struct {
		m    *corev1.ConfigMap
		want sweep.Outcome
	}{
		{w.configMap(transient("far", soon(2*time.Hour))), sweep.Waiting},
		{w.configMap(transient("over", past)), ""}, // to be deleted, which Notify does not
		{w.configMap(transient("endless", nil)), sweep.Refused},
		{w.configMap(retained), sweep.Kept},
		{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "none", UID: "none"}}, sweep.Gone},
	} {
		w.notify(w.ender(hourBefore), tt.m, tt.want)
		if got := w.events(w.ns, string(tt.m.UID)); len(got) != 0 {
			t.Errorf("%s: got %+v", tt.m.Name, got)
		}
	}
	near := w.configMap(transient("near", soon(time.Minute)))
	w.notify(w.ender(), near, sweep.Waiting) // nobody asked for it
	if got := w.events(w.ns, string(near.UID)); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// Whatever of it fails, a warning is recorded once.
func TestWarnsOnceInSpiteOfFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"the note is not written":      {Method: http.MethodPatch, Do: faultproxy.Answer(http.StatusForbidden)},
		"the note is cut off":          {Method: http.MethodPatch, Do: faultproxy.Cut()},
		"the answer to it is cut off":  {Method: http.MethodPatch, AfterUpstream: true, Do: faultproxy.Cut()},
		"the note conflicts":           {Method: http.MethodPatch, Times: 2, Do: faultproxy.Answer(http.StatusConflict)},
		"the Event is cut off":         {Method: http.MethodPost, Do: faultproxy.Cut()},
		"the Event's answer is cut":    {Method: http.MethodPost, AfterUpstream: true, Do: faultproxy.Cut()},
		"the Event's answer is broken": {Method: http.MethodPost, AfterUpstream: true, Do: faultproxy.Answer(http.StatusInternalServerError)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := w.configMap(transient("soon", soon(30*time.Minute)))
			p, config := w.behind()
			if rule.Times == 0 {
				rule.Times = 1
			}
			fault := p.Add(rule)
			_, err := ender(t, config, hourBefore).Notify(t.Context(), configMaps, w.ns, m.Name, string(m.UID))
			if (err == nil) != (rule.Times == 2) || fault.Hits() != rule.Times {
				t.Errorf("the first time: %v, after %d faults", err, fault.Hits())
			}
			w.notify(ender(t, config, hourBefore), m, sweep.Waiting)
			if got := w.events(w.ns, string(m.UID)); len(got) != 1 {
				t.Errorf("got %+v, want one Event", got)
			}
		})
	}
}

func TestRecordsWhatWasDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := func(c *sweep.Config) { c.Events = true }
	meta := transient("over", past)
	meta.Annotations[keys.Owner] = "ann@example.org"
	m := w.configMap(meta)
	w.end(w.ender(func(c *sweep.Config) { with(c); c.DryRun = true }), m, sweep.WouldDelete)
	w.end(w.ender(with), m, sweep.Deleted)
	w.end(w.ender(with), m, sweep.Gone)
	got := w.events(w.ns, string(m.UID))
	if len(got) != 1 || got[0].Type != corev1.EventTypeNormal || got[0].Reason != "Ended" || !strings.Contains(got[0].Note, "2020-01-02T03:04:05Z") || !strings.Contains(got[0].Note, "ann@example.org") {
		t.Errorf("got %+v", got)
	}

	// What is in no namespace has its Events in the namespace default.
	ns := w.over()
	w.endNamespace(w.ender(with), ns, sweep.Deleted)
	if got := w.events("default", string(ns.UID)); len(got) != 1 || got[0].Regarding.Kind != "Namespace" {
		t.Errorf("got %+v", got)
	}

	// That it cannot be recorded is no reason to keep the object.
	other := newWorld(t)
	user, _ := devtest.User(t, other.cluster, other.ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "delete"}}}})
	m = other.configMap(transient("over", past))
	other.end(ender(t, user, with), m, sweep.Deleted)
	if other.exists(m) {
		t.Error("it is still there")
	}
}
