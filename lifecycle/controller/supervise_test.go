package controller_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// lines are what is logged.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// await waits until it was said.
func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(l.String(), text) {
		select {
		case <-t.Context().Done():
			t.Fatalf("it never said %q:\n%s", text, l)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// crashing creates a Deployment whose pod does not get ready.
func crashing(t *testing.T, c *devenv.Cluster, ns string, more map[string]string) {
	t.Helper()
	labels, one := map[string]string{"app": "api"}, int32(1)
	of := map[string]string{keys.Supervise: keys.SuperviseTrue}
	maps.Copy(of, more)
	_, err := devtest.Client(t, c.Config()).AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "api", Labels: of},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"hollow.pharos.dev/waiting": "CrashLoopBackOff"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.invalid/api"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// supervising runs a controller that supervises a namespace without patience, and
// returns what it logs of that.
func supervising(t *testing.T, c *devenv.Cluster, ns string, leases map[string][]controller.Inspecter) (*replica, *lines) {
	t.Helper()
	said := &lines{}
	task, err := controller.Supervise(controller.SuperviseConfig{REST: c.Config(), Namespaces: []string{ns}, Leases: leases, Log: slog.New(slog.NewTextHandler(said, nil)),
		Policy: supervise.Policy{Restarts: 1, Pause: -1}, Patience: time.Millisecond, Every: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, c.Config(), ns, "alone", task), said
}

// What somebody has borrowed or maintains is left alone until they have given it back,
// and so is what cannot be told or is another target's.
func TestWhatIsBorrowedIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	for _, mode := range []lease.Mode{lease.ModeBorrow, lease.ModeMaintain} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			ns := devtest.Namespace(t, c)
			crashing(t, c, ns, map[string]string{keys.Target: "devbox"})
			of, err := lease.New(lease.Config{REST: c.Config(), Namespace: ns, Target: "devbox", Grace: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			held, err := of.Acquire(t.Context(), lease.Request{Mode: mode, User: "ann@desk"})
			if err != nil {
				t.Fatal(err)
			}
			proxy, err := faultproxy.ForCluster(c.Config())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			unread := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/leases/pharos-devbox$"), Times: 1, Do: faultproxy.Answer(http.StatusForbidden)})
			asked, err := lease.New(lease.Config{REST: proxy.Config(c.Config()), Namespace: ns, Target: "devbox"})
			if err != nil {
				t.Fatal(err)
			}
			r, said := supervising(t, c, ns, map[string][]controller.Inspecter{"devbox": {asked}})
			said.await(t, "ann@desk has target devbox in mode "+string(mode))
			if unread.Hits() != 1 || !strings.Contains(said.String(), "it cannot be told whether target devbox is somebody's just now") {
				t.Errorf("it says\n%s", said)
			}
			if _, metrics := r.get("/metrics"); !strings.Contains(metrics, "pharos_supervise_restarts_total 0\n") {
				t.Errorf("it was restarted while it was borrowed:\n%s", said)
			}
			if err := held.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.await("/metrics", "pharos_supervise_restarts_total 1")
		})
	}
	t.Run("another target's", func(t *testing.T) {
		t.Parallel()
		ns := devtest.Namespace(t, c)
		crashing(t, c, ns, map[string]string{keys.Target: "other"})
		of, err := lease.New(lease.Config{REST: c.Config(), Namespace: ns, Target: "devbox"})
		if err != nil {
			t.Fatal(err)
		}
		r, said := supervising(t, c, ns, map[string][]controller.Inspecter{"devbox": {of}})
		said.await(t, "target other delivers it, whose lease is not watched here")
		if _, metrics := r.get("/metrics"); !strings.Contains(metrics, "pharos_supervise_restarts_total 0\n") {
			t.Errorf("it was restarted:\n%s", said)
		}
	})
}

// The leader restarts what asks for it, parks it, and tells of that once.
func TestTheLeaderSupervises(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	crashing(t, c, ns, nil)
	r, said := supervising(t, c, ns, nil)
	parked := fmt.Sprintf(`pharos_supervise_parked{kind="Deployment",name="api",namespace="%s"} 1`, ns)
	for _, want := range []string{parked, "pharos_supervise_restarts_total 1", "pharos_supervise_workloads 1", `pharos_task_running{task="supervise"} 1`} {
		r.await("/metrics", want)
	}
	r.stop()
	if _, metrics := r.get("/metrics"); strings.Contains(metrics, parked) || !strings.Contains(metrics, "pharos_supervise_restarts_total 1") {
		t.Errorf("what has ended says %s", metrics)
	}
	for _, want := range []string{`msg=restarted workload="Deployment ` + ns + `/api" restarts=1 failure="pod api-`, `level=WARN msg="it is parked and restarted no more" workload="Deployment ` + ns + `/api" reason="1 restart did not help: pod api-`} {
		if n := strings.Count(said.String(), want); n != 1 {
			t.Errorf("it said %d times %q:\n%s", n, want, said)
		}
	}
}

func TestConfigOfSupervise(t *testing.T) {
	t.Parallel()
	if _, err := controller.Supervise(controller.SuperviseConfig{Namespaces: []string{"shop"}}); err == nil {
		t.Error("without REST")
	}
	if _, err := controller.Supervise(controller.SuperviseConfig{REST: devtest.Cluster(t).Config()}); err == nil {
		t.Error("without Namespaces")
	}
}
