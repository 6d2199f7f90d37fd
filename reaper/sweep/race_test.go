package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// behind starts a proxy in front of the cluster.
func (w world) behind() (*faultproxy.Proxy, *rest.Config) {
	w.t.Helper()
	p, err := faultproxy.ForCluster(w.cluster.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Close)
	return p, p.Config(w.cluster.Config())
}

// without has a server see no such precondition, "uid" or "resourceVersion", as one
// that does not know it.
func without(config *rest.Config, preconditions ...string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return ignoring{next, preconditions} })
	return config
}

type ignoring struct {
	next          http.RoundTripper
	preconditions []string
}

func (i ignoring) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodDelete {
		return i.next.RoundTrip(r)
	}
	var options map[string]any
	if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
		return nil, err
	}
	if p, ok := options["preconditions"].(map[string]any); ok {
		for _, name := range i.preconditions {
			delete(p, name)
		}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return i.next.RoundTrip(r)
}

// meanwhile ends the ConfigMap, and does something once the request of the method for
// it is under way, before the server sees it.
func (w world) meanwhile(method string, change func(*rest.Config) *rest.Config, m *corev1.ConfigMap, do func()) sweep.Result {
	w.t.Helper()
	p, config := w.behind()
	fault := p.Add(faultproxy.Rule{Method: method, Path: regexp.MustCompile("/configmaps/" + m.Name + "$"), Times: 1, Do: faultproxy.Stall()})
	e := ender(w.t, change(config))
	type answer struct {
		res sweep.Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		res, err := e.End(w.t.Context(), configMaps, w.ns, m.Name, string(m.UID))
		done <- answer{res, err}
	}()
	select {
	case <-fault.Reached():
	case a := <-done:
		w.t.Fatalf("it made no %s: %s, %v", method, a.res.Outcome, a.err)
	}
	do()
	fault.Release()
	a := <-done
	if a.err != nil {
		w.t.Fatal(a.err)
	}
	return a.res
}

func unchanged(c *rest.Config) *rest.Config { return c }

// anew deletes the ConfigMap and creates another one like it.
func (w world) anew(m *corev1.ConfigMap) *corev1.ConfigMap {
	w.t.Helper()
	if err := w.admin.CoreV1().ConfigMaps(w.ns).Delete(w.t.Context(), m.Name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return w.configMap(transient(m.Name, m.Annotations))
}

// Each way of telling that it is another object suffices where servers ignore the
// others: the read before the deletion, the UID, the resourceVersion.
func TestSameNameCreatedAnew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		during  string
		ignored []string
	}{
		"after the read":                             {http.MethodDelete, nil},
		"after the read, no resourceVersion":         {http.MethodDelete, []string{"resourceVersion"}},
		"after the read, no UID":                     {http.MethodDelete, []string{"uid"}},
		"before the read":                            {http.MethodGet, nil},
		"before the read, nothing is a precondition": {http.MethodGet, []string{"uid", "resourceVersion"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := w.configMap(transient("twice", past))
			var second *corev1.ConfigMap
			res := w.meanwhile(tt.during, func(c *rest.Config) *rest.Config { return without(c, tt.ignored...) }, m, func() { second = w.anew(m) })
			if res.Outcome != sweep.Gone {
				t.Errorf("got %s, want Gone", res.Outcome)
			}
			if !w.exists(second) {
				t.Error("the other object of this name was deleted")
			}
		})
	}
}

func TestChangedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(world, *corev1.ConfigMap)
		want   sweep.Outcome
	}{
		"extended": {func(_ world, m *corev1.ConfigMap) { m.Annotations = later() }, sweep.Waiting},
		"retained": {func(_ world, m *corev1.ConfigMap) { m.Labels[keys.Intent] = "retained" }, sweep.Kept},
		"invalid":  {func(_ world, m *corev1.ConfigMap) { m.Annotations[keys.TTL] = "forever" }, sweep.Refused},
		"declared": {func(_ world, m *corev1.ConfigMap) { m.Labels[keys.Target] = "dev" }, sweep.Refused},
		"owned": {func(w world, m *corev1.ConfigMap) {
			owner := w.configMap(metav1.ObjectMeta{Name: "owner"})
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		}, sweep.Kept},
		"nothing of it": {func(_ world, m *corev1.ConfigMap) { m.Data = map[string]string{"a": "b"} }, sweep.Deleted},
	} {
		for _, during := range []string{http.MethodGet, http.MethodDelete} {
			t.Run(name+" before "+during, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				m := w.configMap(transient("late", past))
				res := w.meanwhile(during, unchanged, m, func() {
					changed := m.DeepCopy()
					tt.change(w, changed)
					if _, err := w.admin.CoreV1().ConfigMaps(w.ns).Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				})
				if res.Outcome != tt.want || w.exists(m) != (tt.want != sweep.Deleted) {
					t.Errorf("got %s, is there: %t; want %s", res.Outcome, w.exists(m), tt.want)
				}
			})
		}
	}
}

func TestChangedOverAndOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, config := w.behind()
	p.Add(faultproxy.Rule{Method: http.MethodDelete, Do: faultproxy.Answer(http.StatusConflict)})
	m := w.configMap(transient("busy", past))
	if _, err := ender(t, config).End(t.Context(), configMaps, w.ns, m.Name, string(m.UID)); !errors.Is(err, sweep.ErrUnsettled) {
		t.Errorf("got %v, want ErrUnsettled", err)
	}
	if !w.exists(m) {
		t.Error("it is gone")
	}
}

func TestTerminatingIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, name := devtest.User(t, w.cluster, w.ns, devtest.Rights{Existing: "admin"})
	audit := devtest.RecordAudit(t, w.cluster)
	meta := transient("stuck", past)
	meta.Finalizers = []string{"example.org/never"}
	m := w.configMap(meta)
	t.Cleanup(func() { w.freed(m.Name) })
	e := ender(t, user)
	w.end(e, m, sweep.Deleted) // with its finalizer it stays
	if res := w.end(e, m, sweep.Kept); res.Decision.Reason != reaper.Terminating {
		t.Errorf("got %s, want Terminating", res.Decision.Reason)
	}
	if _, err := e.Pass(t.Context(), sweep.PassOptions{Resources: []string{"configmaps"}, Namespace: w.ns}); err != nil {
		t.Fatal(err)
	}
	writes := audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.User == name && !slices.Contains([]string{"get", "list", "watch"}, e.Verb)
	})
	if len(writes) != 1 || writes[0].Verb != "delete" {
		t.Errorf("writes: got %+v, want one deletion", writes)
	}
	if !w.exists(m) {
		t.Error("it is gone: its finalizer was removed")
	}
}

// freed removes the finalizers of a ConfigMap, so that its namespace can go.
func (w world) freed(name string) {
	_, err := w.admin.CoreV1().ConfigMaps(w.ns).Patch(context.Background(), name, "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		w.t.Error(err)
	}
}
