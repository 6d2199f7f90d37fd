package sweep_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// starting is the connection to an API server that has not registered a group yet, and
// does not say so but by /readyz.
type starting struct {
	next  http.RoundTripper
	group string
	is    *atomic.Bool
	code  int // of /readyz
}

func (s starting) through(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { s.next = next; return s })
	return config
}

func (s starting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err != nil || !s.is.Load() {
		return resp, err
	}
	switch r.URL.Path {
	case "/readyz":
		resp.StatusCode = s.code
	case "/apis":
		defer resp.Body.Close()
		var list map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
			return nil, err
		}
		list["items"] = slices.DeleteFunc(list["items"].([]any), func(g any) bool {
			return g.(map[string]any)["metadata"].(map[string]any)["name"] == s.group
		})
		body, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

func (w world) retainedDeployment() {
	w.t.Helper()
	none, labels := int32(0), map[string]string{"app": "kept"}
	_, err := w.admin.AppsV1().Deployments(w.ns).Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "kept", Labels: map[string]string{keys.Intent: "retained"}},
		Spec: appsv1.DeploymentSpec{Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}

// What an API server does not list while it starts is not absent: not what a namespace
// holds, nor what is watched.
func TestServerThatIsStarting(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"not ready": http.StatusInternalServerError, "it does not say": http.StatusForbidden, "it cannot say": http.StatusNotFound} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.retainedDeployment()
			ns := w.over()
			s := starting{group: "apps", is: &atomic.Bool{}, code: code}
			e := ender(t, s.through(w.cluster.Config()))
			r := w.start(e, func(c *sweep.SweeperConfig) { c.Resources = []string{"deployments.apps"} })
			r.covers()
			s.is.Store(true)
			res, err := e.End(t.Context(), namespaces, "", ns.Name, string(ns.UID))
			if err == nil || !strings.Contains(err.Error(), "/readyz") {
				t.Fatalf("got %s, %v; want an error that names /readyz", res.Outcome, err)
			}
			w.wantAlive()
			r.lacks("discovery", "/readyz")
			if r.State().Objects["deployments.apps"] == nil {
				t.Error("what was watched is not any more")
			}
			s.is.Store(false)
			w.endNamespace(e, ns, sweep.Refused)
			w.wantAlive()
		})
	}
}
