package controller_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
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

// The leader restarts what asks for it, parks it, and tells of that once.
func TestTheLeaderSupervises(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	labels, one := map[string]string{"app": "api"}, int32(1)
	_, err := devtest.Client(t, c.Config()).AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "api", Labels: map[string]string{keys.Supervise: keys.SuperviseTrue}},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"hollow.pharos.dev/waiting": "CrashLoopBackOff"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.invalid/api"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := &lines{}
	task, err := controller.Supervise(controller.SuperviseConfig{REST: c.Config(), Namespaces: []string{ns}, Log: slog.New(slog.NewTextHandler(said, nil)),
		Policy: supervise.Policy{Restarts: 1, Pause: -1}, Patience: time.Millisecond, Every: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, c.Config(), ns, "alone", task)
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
