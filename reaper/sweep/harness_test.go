package sweep_test

import (
	"context"
	"k8s.io/apimachinery/pkg/api/resource"
	"maps"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

var (
	configMaps = sweep.Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}
	namespaces = sweep.Resource{Version: "v1", Resource: "namespaces", Kind: "Namespace"}
)

// world is a namespace of the test's cluster.
type world struct {
	t       *testing.T
	cluster *devenv.Cluster
	admin   kubernetes.Interface
	ns      string
}

func newWorld(t *testing.T) world {
	t.Helper()
	c := devtest.Cluster(t)
	return world{t, c, devtest.Client(t, c.Config()), devtest.Namespace(t, c)}
}

// ender returns an Ender for the configuration.
func ender(t *testing.T, config *rest.Config, change ...func(*sweep.Config)) *sweep.Ender {
	t.Helper()
	c := sweep.Config{REST: config, DeletesPerSecond: -1}
	for _, f := range change {
		f(&c)
	}
	e, err := sweep.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w world) ender(change ...func(*sweep.Config)) *sweep.Ender {
	w.t.Helper()
	return ender(w.t, w.cluster.Config(), change...)
}

// past are annotations of an end that was.
var past = map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"}

// later are annotations of an end that will be.
func later() map[string]string {
	return map[string]string{keys.ExpiresAt: reaper.FormatTime(time.Now().Add(24 * time.Hour))}
}

// transient is metadata that says so, with these annotations.
func transient(name string, annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{keys.Intent: string(reaper.Transient)}, Annotations: maps.Clone(annotations)}
}

// configMap creates a ConfigMap with this metadata.
func (w world) configMap(m metav1.ObjectMeta) *corev1.ConfigMap {
	w.t.Helper()
	made, err := w.admin.CoreV1().ConfigMaps(w.ns).Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// exists says whether the ConfigMap with the UID of this one is there.
func (w world) exists(m *corev1.ConfigMap) bool {
	w.t.Helper()
	now, err := w.admin.CoreV1().ConfigMaps(w.ns).Get(w.t.Context(), m.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return now.UID == m.UID
}

// end ends the ConfigMap and wants the outcome.
func (w world) end(e *sweep.Ender, m *corev1.ConfigMap, want sweep.Outcome) sweep.Result {
	w.t.Helper()
	res, err := e.End(w.t.Context(), configMaps, w.ns, m.Name, string(m.UID))
	if err != nil {
		w.t.Fatal(err)
	}
	if res.Outcome != want {
		w.t.Fatalf("%s: got %s (%s: %s), want %s", m.Name, res.Outcome, res.Decision.Reason, res.Decision.Message, want)
	}
	return res
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func contextWith(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// dates changes the Date of a server's answers.
type dates struct {
	next   http.RoundTripper
	change func(http.Header)
}

func (d dates) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if err == nil {
		d.change(resp.Header)
	}
	return resp, err
}

func dated(config *rest.Config, change func(http.Header)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return dates{next, change} })
	return config
}

// ahead has the server's clock be ahead by a duration.
func ahead(config *rest.Config, by string) *rest.Config {
	return dated(config, func(h http.Header) {
		d, err := time.ParseDuration(by)
		if err != nil {
			panic(err)
		}
		at, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			panic(err)
		}
		h.Set("Date", at.Add(d).UTC().Format(http.TimeFormat))
	})
}

func dateless(config *rest.Config) *rest.Config {
	return dated(config, func(h http.Header) { h.Del("Date") })
}

func nothing(*corev1.ConfigMap) {}
