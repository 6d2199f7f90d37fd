package workload_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/supervise/workload"
)

// patience bounds what a loaded machine may take for what takes a moment.
const patience = 2 * time.Minute

// waiting has the node keep a pod from being ready.
const waiting = "hollow.pharos.dev/waiting"

// hasty has no pauses.
var hasty = supervise.Policy{Pause: -1}

// bench is a namespace of its own on the shared cluster.
type bench struct {
	*testing.T
	cluster   *devenv.Cluster
	namespace string
	admin     kubernetes.Interface
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := devtest.Cluster(t)
	return &bench{T: t, cluster: c, namespace: devtest.Namespace(t, c), admin: devtest.Client(t, c.Config())}
}

// template is that of pods which wait for the reason, or become ready without one.
func template(name, reason string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.invalid/" + name}}},
	}
	if reason != "" {
		t.Annotations = map[string]string{waiting: reason}
	}
	return t
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

// deployment creates a Deployment and waits until its pods are as the reason wants.
func (b *bench) deployment(name string, replicas int32, reason string) *appsv1.Deployment {
	b.Helper()
	d, err := b.admin.AppsV1().Deployments(b.namespace).Create(b.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: template(name, reason)},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.pods(name, int(replicas), settled(reason))
	return d
}

// settled is a pod that the node has seen: it waits for the reason, or is ready.
func settled(reason string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		if reason == "" {
			return ready(p)
		}
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil
	}
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// pods waits until there are so many pods that are not being deleted, all as wanted.
func (b *bench) pods(name string, n int, want func(*corev1.Pod) bool) []corev1.Pod {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	pods, err := awaitPods(ctx, b.admin, b.namespace, name, n, want)
	if err != nil {
		b.Fatal(err)
	}
	return pods
}

func awaitPods(ctx context.Context, client kubernetes.Interface, namespace, name string, n int, want func(*corev1.Pod) bool) ([]corev1.Pod, error) {
	selected := metav1.ListOptions{LabelSelector: "app=" + name}
	for {
		list, err := client.CoreV1().Pods(namespace).List(ctx, selected)
		if err != nil {
			return nil, err
		}
		var there []corev1.Pod
		unwanted := 0
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil {
				there = append(there, p)
				if !want(&p) {
					unwanted++
				}
			}
		}
		if len(there) == n && unwanted == 0 {
			return there, nil
		}
		// From there on until something changes.
		o := selected
		o.ResourceVersion = list.ResourceVersion
		w, err := client.CoreV1().Pods(namespace).Watch(ctx, o)
		if err != nil {
			return nil, err
		}
		select {
		case <-w.ResultChan():
			w.Stop()
		case <-ctx.Done():
			w.Stop()
			return nil, fmt.Errorf("%d pods of %s, %d of them not as wanted: %w", len(there), name, unwanted, ctx.Err())
		}
	}
}

// later is a clock for which every pod has been unready for long.
func later() time.Time { return time.Now().Add(time.Hour) }

// workload is a Deployment as what is supervised.
func (b *bench) workload(config *rest.Config, name string, change func(*workload.Config)) *workload.Workload {
	b.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	c := workload.Config{Client: client, Kind: workload.Deployment, Namespace: b.namespace, Name: name, Now: later}
	if change != nil {
		change(&c)
	}
	w, err := workload.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

func (b *bench) supervisor(w *workload.Workload, p supervise.Policy) *supervise.Supervisor {
	b.Helper()
	s, err := supervise.New(supervise.Config{Thing: w, Store: w, Policy: p})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bench) step(s *supervise.Supervisor) supervise.Report {
	b.Helper()
	r, err := s.Step(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// park steps until it is parked, and returns how often it was restarted.
func (b *bench) park(s *supervise.Supervisor, name string, replicas int) (restarts int) {
	b.Helper()
	for range 50 {
		b.pods(name, replicas, settled("CrashLoopBackOff"))
		switch b.step(s).Action {
		case supervise.Restart:
			restarts++
		case supervise.Park:
			return restarts
		case supervise.None, supervise.Wait:
		}
	}
	b.Fatalf("it is not parked after %d restarts", restarts)
	return restarts
}

func (b *bench) get(name string) *appsv1.Deployment {
	b.Helper()
	d, err := b.admin.AppsV1().Deployments(b.namespace).Get(b.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// awaitRevision waits until the controller has seen another pod template.
func (b *bench) awaitRevision(name, not string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	w, err := b.admin.AppsV1().Deployments(b.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if d, ok := e.Object.(*appsv1.Deployment); ok {
			if r := d.Annotations["deployment.kubernetes.io/revision"]; r != "" && r != not {
				return r
			}
		}
	}
	b.Fatal("there is no other revision")
	return ""
}

// patch changes a Deployment as a person does.
func (b *bench) patch(name, patch string) {
	b.Helper()
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(b.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{FieldManager: "kubectl"})
	if err != nil {
		b.Fatal(err)
	}
}

// marks are Pharos's annotations on a Deployment.
func (b *bench) marks(name string) (parked, budget string) {
	b.Helper()
	a := b.get(name).Annotations
	return a[keys.Parked], a[keys.RestartBudget]
}

// deleted are the deletions of pods by the user, each under its conditions.
func (b *bench) deleted(a *devtest.Audit, user string) (pods []string) {
	b.Helper()
	for _, e := range a.Events(b, devtest.ByUser(user)) {
		if e.Verb != "delete" && e.Verb != "deletecollection" || e.Code == http.StatusForbidden {
			continue // what is forbidden is not even read
		}
		uid, version := e.Preconditions()
		if e.Resource != "pods" || uid == "" || version == "" {
			b.Errorf("%s %s with the conditions %q and %q", e.Verb, e.RequestURI, uid, version)
		}
		if e.Code < 300 {
			pods = append(pods, e.Name)
		}
	}
	return pods
}

func is(err error, targets ...error) bool {
	for _, t := range targets {
		if !errors.Is(err, t) {
			return false
		}
	}
	return err != nil
}
