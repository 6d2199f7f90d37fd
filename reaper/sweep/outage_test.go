package sweep_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// wire is a connection that can be cut.
type wire struct {
	mu    sync.Mutex
	conns []net.Conn
}

// through returns a configuration whose connections the wire cuts.
func (w *wire) through(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.conns = append(w.conns, c)
		}
		return c, err
	}
	return config
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// watches are requests that watch, streams those that also list.
func watches(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }
func streams(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") != "" }

// untilListed are requests that watch from a state on, until there was one to list.
func untilListed() func(*http.Request) bool {
	listed := false
	return func(r *http.Request) bool {
		listed = listed || streams(r)
		return watches(r) && !listed
	}
}

// Whatever happens to its watch, it ends what was made meanwhile, and knows what is
// gone.
func TestSweepSurvivesItsWatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules []faultproxy.Rule // when the connection was cut
		gap   string
	}{
		"disconnected":           {},
		"forgotten":              {rules: []faultproxy.Rule{{Match: untilListed(), Do: faultproxy.Answer(http.StatusGone)}}},
		"server that fails":      {rules: []faultproxy.Rule{{Match: watches, Times: 3, Do: faultproxy.Answer(http.StatusInternalServerError)}}, gap: "Internal Server Error"},
		"server that hangs":      {rules: []faultproxy.Rule{{Match: watches, Times: 1, Do: faultproxy.Stall()}}, gap: "did not answer within"},
		"connection that breaks": {rules: []faultproxy.Rule{{Match: watches, Times: 4, Do: faultproxy.Cut()}}},
		"server that forbids":    {rules: []faultproxy.Rule{{Match: watches, Times: 2, Do: faultproxy.Answer(http.StatusForbidden)}}, gap: "Forbidden"},
		"server that is another": {rules: []faultproxy.Rule{{Match: untilListed(), Do: faultproxy.Answer(http.StatusNotFound)}}},
		"list that is not streamed": {rules: []faultproxy.Rule{
			{Match: untilListed(), Do: faultproxy.Answer(http.StatusGone)},
			{Match: streams, Do: faultproxy.Answer(http.StatusBadRequest)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p, config := w.behind()
			var wire wire
			config = wire.through(config)
			w.configMap(transient("stays", later()))
			w.configMap(transient("goes", later()))
			r := w.start(ender(t, config, func(c *sweep.Config) { c.RequestTimeout = 3 * time.Second }))
			r.covers()
			for _, rule := range tt.rules {
				p.Add(rule)
			}
			wire.cut()
			w.delete("goes")
			w.configMap(transient("meanwhile", past))
			if tt.gap != "" {
				r.lacks("configmaps", tt.gap)
			}
			r.until("meanwhile", sweep.Deleted)
			r.covers()
			eventually(t, "it knows what is there", func() bool { return r.State().Objects["configmaps"][sweep.ClassWaiting] == 1 })
			w.configMap(transient("afterwards", past))
			r.until("afterwards", sweep.Deleted)
		})
	}
}

// A resource that is forbidden is a gap, and no reason not to do the rest; it is seen
// when it is allowed.
func TestSweepOfWhatIsForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	verbs := []string{"get", "list", "watch", "delete"}
	config, name := devtest.User(t, w.cluster, w.ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}})
	r := w.start(ender(t, config), func(c *sweep.SweeperConfig) { c.Resources = []string{"pods", "configmaps", "nonsense.example.org"} })
	r.lacks("pods", "forbidden")
	r.lacks("nonsense.example.org", "no such resource")
	w.configMap(transient("over", past))
	r.until("over", sweep.Deleted)

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}}}
	_, err := w.admin.RbacV1().Roles(w.ns).Create(t.Context(), role, metav1.CreateOptions{})
	if err == nil {
		user := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
		_, err = w.admin.RbacV1().RoleBindings(w.ns).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta,
			Subjects: []rbacv1.Subject{user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "pods are seen", func() bool { return len(r.State().Gaps) == 1 })
}

var (
	crds     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	services = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	widgets  = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}
)

// object is an object of any kind.
func object(apiVersion, kind, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	for k, v := range content {
		o.Object[k] = v
	}
	return o
}

// widgetCRD is a kind that comes and goes.
func widgetCRD() *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.org", map[string]any{"spec": map[string]any{
		"group": "example.org", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}})
}

// What happens to a whole cluster: its API server restarts and is killed, kinds come
// and go, and a group does not answer.
func TestSweepSurvivesTheCluster(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{})
	w := world{t, c, devtest.Client(t, c.Config()), devtest.Namespace(t, c)}
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	create := func(gvr schema.GroupVersionResource, namespace string, o *unstructured.Unstructured) {
		t.Helper()
		eventually(t, o.GetName()+" is created", func() bool {
			_, err := client.Resource(gvr).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{})
			return err == nil
		})
	}
	widget := func(name string) {
		t.Helper()
		o := object("example.org/v1", "Widget", name, nil)
		o.SetLabels(map[string]string{keys.Intent: "transient"})
		o.SetAnnotations(past)
		create(widgets, w.ns, o)
	}
	r := w.start(w.ender(), func(c *sweep.SweeperConfig) { c.Resources = []string{"configmaps", "widgets.example.org"} })
	r.lacks("widgets.example.org", "no such resource")

	create(crds, "", widgetCRD())
	widget("first")
	r.until("first", sweep.Deleted)
	if err := client.Resource(crds).Delete(t.Context(), "widgets.example.org", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.lacks("widgets.example.org", "no such resource")
	eventually(t, "what is gone is not watched", func() bool { return r.State().Objects["widgets.example.org"] == nil })
	create(crds, "", widgetCRD())
	widget("second")
	r.until("second", sweep.Deleted)

	// A group whose server does not answer is unknown, not empty.
	create(services, "", object("apiregistration.k8s.io/v1", "APIService", "v1.away.example.org", map[string]any{"spec": map[string]any{
		"group": "away.example.org", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": w.ns, "name": "nobody"},
	}}))
	all := w.start(w.ender(), func(c *sweep.SweeperConfig) { c.Resources = []string{sweep.Everything} })
	all.lacks("away.example.org/v1", "does not answer")
	account := &corev1.ServiceAccount{ObjectMeta: transient("third", past)}
	if _, err := w.admin.CoreV1().ServiceAccounts(w.ns).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	all.until("third", sweep.Deleted)
	all.stop()

	w.configMap(transient("in-the-outage", in(4*time.Second)))
	w.configMap(transient("after-it", in(20*time.Second)))
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.until("in-the-outage", sweep.Deleted)
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	r.lacks("configmaps", "refused")
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.until("after-it", sweep.Deleted)
	r.covers()
	w.configMap(transient("at-last", past))
	r.until("at-last", sweep.Deleted)
}

// What it started has ended when it has, in the middle of its work.
func TestSweepLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const label = "sweep-that-ends"
	stacks := func() (list []string) {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Fatal(err)
		}
		for g := range strings.SplitSeq(b.String(), "\n\n") {
			// Connections are the client's, which outlives a run.
			if strings.Contains(g, label) && !strings.Contains(g, "net/http") {
				list = append(list, g)
			}
		}
		return list
	}
	for i := range 50 {
		w.configMap(transient(fmt.Sprint("over-", i), past))
	}
	var r *running
	pprof.Do(t.Context(), pprof.Labels("test", label), func(context.Context) {
		r = w.start(w.ender(func(c *sweep.Config) { c.DeletesPerSecond = 10 }), func(c *sweep.SweeperConfig) { c.Resources = []string{sweep.Everything} })
	})
	r.until("over-49", sweep.Deleted)
	if len(stacks()) == 0 {
		t.Error("while it runs this test sees nothing of it")
	}
	r.stop()
	// One that has said that it has ended may still be on its way out: nothing but the
	// function that it began with is on its stack then.
	for _, g := range stacks() {
		if calls := regexp.MustCompile(`(?m)^#\t.*github\.com/pharos-dev|^#\t.*k8s\.io/`).FindAllString(g, -1); len(calls) > 1 {
			t.Errorf("it is still at work:\n%s", g)
		}
	}
	eventually(t, "no goroutine is left", func() bool { return len(stacks()) == 0 })
	if s := r.State(); s.Objects != nil || s.Gaps != nil {
		t.Errorf("it still knows of %v", s)
	}
}

// unstreamed is the connection to a server that refuses to stream lists.
func unstreamed(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noStreams{next} })
	return config
}

type noStreams struct{ next http.RoundTripper }

func (n noStreams) RoundTrip(r *http.Request) (*http.Response, error) {
	if q := r.URL.Query(); streams(r) {
		q.Del("resourceVersionMatch") // without which that is invalid, as for a server that cannot do it
		r = r.Clone(r.Context())
		r.URL.RawQuery = q.Encode()
	}
	return n.next.RoundTrip(r)
}
