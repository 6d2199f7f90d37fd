package controller_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

// replica is a controller that runs, and what it serves.
type replica struct {
	t    *testing.T
	url  *httptest.Server
	stop func()
}

func run(t *testing.T, config *rest.Config, namespace, name string, tasks ...controller.Task) *replica {
	t.Helper()
	return runConfig(t, config, namespace, controller.Config{Identity: name, Tasks: tasks})
}

func runConfig(t *testing.T, config *rest.Config, namespace string, c controller.Config) *replica {
	t.Helper()
	m, err := lease.New(lease.Config{REST: config, Namespace: namespace, Target: "shop", Name: "pharos-shop.controller",
		Deliver: lease.Timing{Duration: 15 * time.Second, RenewEvery: time.Second}, Margin: time.Second, Grace: time.Second, RetryPeriod: 100 * time.Millisecond, RequestTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c.Lease, c.Version, c.Retry = m, "v1.2.3", 100*time.Millisecond
	ctl, err := controller.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ctl.Run(ctx) }()
	r := &replica{t: t, url: httptest.NewServer(ctl.Handler())}
	ended := false
	r.stop = func() {
		cancel()
		if !ended {
			if err := <-done; err != nil {
				t.Errorf("%s ended with %v", c.Identity, err)
			}
		}
		ended = true
	}
	t.Cleanup(func() { r.stop(); r.url.Close() })
	return r
}

func (r *replica) get(path string) (int, string) {
	r.t.Helper()
	answer, err := r.url.Client().Get(r.url.URL + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// await waits until what is served holds the text.
func (r *replica) await(path, text string) {
	r.t.Helper()
	for ctx := r.t.Context(); ; {
		if _, body := r.get(path); strings.Contains(body, text) {
			return
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("%s never said %q", path, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

const leads, stands = "\npharos_controller_leader 1\n", "\npharos_controller_leader 0\n"

func TestOneLeads(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	first := run(t, c.Config(), ns, "first")
	first.await("/metrics", leads)
	second := run(t, c.Config(), ns, "second")
	second.await("/readyz", "ok")
	if _, metrics := second.get("/metrics"); !strings.Contains(metrics, stands) || !strings.Contains(metrics, `pharos_build_info{version="v1.2.3"} 1`) || !strings.Contains(metrics, "go_goroutines") {
		t.Errorf("the second one says %s", metrics)
	}
	if _, metrics := first.get("/metrics"); !strings.Contains(metrics, leads) {
		t.Error("the first one leads no more")
	}
	first.stop()
	if _, metrics := first.get("/metrics"); !strings.Contains(metrics, stands) {
		t.Error("what has ended says that it leads")
	}
	second.await("/metrics", leads)
}

// A lease that cannot be reached, since its namespace is missing, is said once, and that
// it can be reached again.
func TestMissingNamespaceIsSaidOnce(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	admin := devtest.Client(t, c.Config())
	name := devtest.Namespace(t, c) + "-late"
	l := &log{}
	r := runConfig(t, c.Config(), name, controller.Config{Identity: "alone", Log: l.logger()})
	r.await("/metrics", "pharos_controller_failures_total 3")
	if said := l.all(); strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, "cannot be reached") {
		t.Errorf("it says\n%s", said)
	}
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = admin.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	})
	r.await("/metrics", leads)
	if said := l.all(); strings.Count(said, "can be reached again") != 1 {
		t.Errorf("it says\n%s", said)
	}
}

// A lease that cannot be reached is no leadership, and no health of the process.
func TestLeaseThatCannotBeReached(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config := rest.AnonymousClientConfig(c.Config())
	config.Host = "https://127.0.0.1:1"
	r := run(t, config, ns, "alone")
	r.await("/metrics", "pharos_controller_failures_total 1")
	if code, _ := r.get("/readyz"); code != 503 {
		t.Errorf("it is ready: %d", code)
	}
	if code, _ := r.get("/healthz"); code != 200 {
		t.Errorf("it is not healthy: %d", code)
	}
}
