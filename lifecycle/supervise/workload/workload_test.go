package workload_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/supervise/workload"
)

const crash = "CrashLoopBackOff"

// A workload that does not become well is restarted five times and parked, by a
// supervisor that lives for one step only, and what is declared stays as it was.
func TestParksAndIsUnparked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 2, crash)
	before := b.get("api")
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)

	restarts := 0
	for parked, steps := false, 0; !parked && steps < 50; steps++ {
		b.pods("api", 2, settled(crash))
		r := b.step(b.supervisor(b.workload(config, "api", nil), hasty))
		parked = r.Action == supervise.Park
		if r.Action == supervise.Restart {
			restarts++
		}
	}
	pods := b.pods("api", 2, settled(crash))
	s := b.supervisor(b.workload(config, "api", nil), hasty)
	for range 5 {
		if r := b.step(s); r.Action != supervise.None || !r.State.IsParked() {
			t.Errorf("what is parked: %+v", r)
		}
	}
	if restarts != 5 || len(b.deleted(audit, user)) != 10 {
		t.Errorf("%d restarts, deleted %q", restarts, b.deleted(audit, user))
	}
	if now := b.pods("api", 2, settled(crash)); now[0].UID != pods[0].UID || now[1].UID != pods[1].UID {
		t.Error("pods of what is parked were replaced")
	}
	parked, budget := b.marks("api")
	if !strings.HasPrefix(parked, "5 restarts did not help: pod api-") || !strings.Contains(parked, "container app waits: "+crash+" (and 1 more)") {
		t.Errorf("parked: %q, budget: %q", parked, budget)
	}
	after := b.get("api")
	if !reflect.DeepEqual(after.Spec, before.Spec) {
		t.Errorf("the spec became %+v", after.Spec)
	}

	// A person, by the package, and by kubectl.
	if err := s.Unpark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if parked, budget := b.marks("api"); parked != "" || budget != "" {
		t.Errorf("unparked: %q, %q", parked, budget)
	}
	if n := b.park(s, "api", 2); n != 5 {
		t.Errorf("%d restarts after it was unparked", n)
	}
	b.patch("api", `{"metadata":{"annotations":{"pharos.dev/parked":null}}}`)
	if n := b.park(s, "api", 2); n != 5 {
		t.Errorf("%d restarts after the annotation was removed", n)
	}
}

// A new pod template is a new delivery, more replicas are none, and an earlier state
// that a rollback brings back is not heeded.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	one := supervise.Policy{Restarts: 1, Pause: -1}
	s := b.supervisor(b.workload(b.cluster.Config(), "api", nil), one)
	if n := b.park(s, "api", 1); n != 1 {
		t.Errorf("%d restarts", n)
	}

	b.patch("api", `{"spec":{"replicas":2}}`)
	b.pods("api", 2, settled(crash))
	if r := b.step(s); !r.State.IsParked() {
		t.Errorf("after scaling: %+v", r)
	}

	b.patch("api", `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"metadata":{"labels":{"v":"2"}}}}}`)
	revision := b.awaitRevision("api", "1")
	b.pods("api", 2, func(p *corev1.Pod) bool { return p.Labels["v"] == "2" && settled(crash)(p) })
	if r := b.step(s); r.State != (supervise.State{Revision: revision, Failures: 1}) {
		t.Errorf("after a delivery: %+v", r)
	}
	if parked, _ := b.marks("api"); parked != "" {
		t.Errorf("it is still parked: %q", parked)
	}

	// As kubectl rollout undo does: the template and the annotations of the first
	// ReplicaSet, which the controller had copied from the Deployment.
	sets, err := b.admin.AppsV1().ReplicaSets(b.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sets.Items, func(r appsv1.ReplicaSet) bool { return r.Annotations["deployment.kubernetes.io/revision"] == "1" })
	if i < 0 {
		t.Fatalf("no ReplicaSet of the first revision: %+v", sets.Items)
	}
	copied := sets.Items[i].Annotations
	if copied[keys.Parked] == "" || copied[keys.RestartBudget] == "" {
		t.Errorf("the controller copied %q", copied)
	}
	b.patch("api", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}},"spec":{"template":{"metadata":{"labels":{"v":null}}}}}`,
		keys.Parked, copied[keys.Parked], keys.RestartBudget, copied[keys.RestartBudget]))
	revision = b.awaitRevision("api", revision)
	b.pods("api", 2, func(p *corev1.Pod) bool { return p.Labels["v"] == "" && settled(crash)(p) })
	if r := b.step(s); r.State != (supervise.State{Revision: revision, Failures: 1}) {
		t.Errorf("after a rollback: %+v", r)
	}
}

// The same template with other settings is a delivery by its receipt.
func TestDeliveryOfTheSameTemplate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	delivered, failing := "receipt-1", error(nil)
	s := b.supervisor(b.workload(b.cluster.Config(), "api", func(c *workload.Config) {
		c.Delivery = func(context.Context) (string, error) { return delivered, failing }
	}), supervise.Policy{Restarts: 1, Pause: -1})
	b.park(s, "api", 1)
	delivered = "receipt-2"
	b.pods("api", 1, settled(crash))
	if r := b.step(s); r.State != (supervise.State{Revision: "1 of receipt-2", Failures: 1}) {
		t.Errorf("got %+v", r)
	}
	failing = errors.New("the store does not answer")
	if r, err := s.Step(t.Context()); !is(err, failing) || r.Action != supervise.None {
		t.Errorf("got %+v, %v", r, err)
	}
}

// What a person parks is not restarted until the next delivery.
func TestParkedByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	s := b.supervisor(b.workload(b.cluster.Config(), "api", nil), hasty)
	for reason, want := range map[string]string{"ada looks at it": "ada looks at it", "": "no reason is given"} {
		b.patch("api", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:null}}}`, keys.Parked, reason, keys.RestartBudget))
		for range 5 {
			if r := b.step(s); r.Action != supervise.None || r.State.Parked != (supervise.Parked{Reason: want}) || r.State.Revision != "1" {
				t.Errorf("got %+v", r)
			}
		}
		if parked, _ := b.marks("api"); parked != want {
			t.Errorf("the reason became %q", parked)
		}
	}
	b.patch("api", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, keys.Parked))
	if n := b.park(s, "api", 1); n != 5 {
		t.Errorf("%d restarts", n)
	}
}

// Only pods fail that are the workload's, that should be ready and that have had
// time: no others are deleted.
func TestOnlyWhatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 3, "")
	w := b.workload(b.cluster.Config(), "api", nil)
	healthy := func(what string, w *workload.Workload) {
		t.Helper()
		if o, err := w.Check(t.Context()); err != nil || o != (supervise.Observation{Revision: "1"}) {
			t.Errorf("%s: %+v, %v", what, o, err)
		}
		if err := w.Restart(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	healthy("ready pods", w)

	// Somebody else's, with the same labels, and one of nobody.
	pods := b.admin.CoreV1().Pods(b.namespace)
	theirs := template("api", crash)
	theirs.Labels["of"] = "them"
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Spec: appsv1.ReplicaSetSpec{Template: theirs, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": "them"}}}}
	if _, err := b.admin.AppsV1().ReplicaSets(b.namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	theirs.Labels["of"] = "nobody"
	theirs.Labels["pod-template-hash"] = "none" // so that no ReplicaSet adopts it
	nobodys := &corev1.Pod{ObjectMeta: theirs.ObjectMeta, Spec: theirs.Spec}
	nobodys.Name = "nobodys"
	if _, err := pods.Create(t.Context(), nobodys, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.pods("api", 5, func(p *corev1.Pod) bool { return p.Labels["of"] == "" || settled(crash)(p) })
	healthy("pods of others", w)
	five := b.pods("api", 5, func(*corev1.Pod) bool { return true })
	if err := b.admin.AppsV1().ReplicaSets(b.namespace).Delete(t.Context(), "theirs", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "nobodys", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	// One of three becomes unready.
	three := b.pods("api", 3, ready)
	ill := three[0]
	for i := range ill.Status.Conditions {
		if c := &ill.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "ContainersNotReady", metav1.Now()
		}
	}
	if _, err := pods.UpdateStatus(t.Context(), &ill, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	healthy("a pod that has become unready just now", b.workload(b.cluster.Config(), "api", func(c *workload.Config) { c.Now = nil }))
	o, err := w.Check(t.Context())
	if err != nil || !strings.Contains(o.Failure, "pod "+ill.Name+" is not ready since ") || !strings.HasSuffix(o.Failure, ": ContainersNotReady") {
		t.Errorf("got %+v, %v", o, err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := b.pods("api", 3, ready)
	kept := 0
	for _, p := range now {
		if !slices.ContainsFunc(five, func(was corev1.Pod) bool { return was.UID == p.UID }) {
			continue
		}
		if p.UID == ill.UID {
			t.Error("the unready pod is there")
		}
		if p.UID == three[1].UID || p.UID == three[2].UID {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d of the ready pods are there", kept)
	}
	if parked, budget := b.marks("api"); parked != "" || budget != "" {
		t.Errorf("a check wrote %q, %q", parked, budget)
	}
}

// smallPages has the server list one object in each answer.
type smallPages struct{ next http.RoundTripper }

func (p smallPages) RoundTrip(r *http.Request) (*http.Response, error) {
	if q := r.URL.Query(); q.Has("limit") {
		q.Set("limit", "1")
		r = r.Clone(r.Context())
		r.URL.RawQuery = q.Encode()
	}
	return p.next.RoundTrip(r)
}

func TestPodsOnSeveralPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 3, crash)
	config, requests := devtest.Count(b.cluster.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return smallPages{next} })
	o, err := b.workload(config, "api", nil).Check(t.Context())
	if err != nil || !strings.HasSuffix(o.Failure, " (and 2 more)") {
		t.Errorf("got %+v, %v", o, err)
	}
	if n := len(requests.Requests()); n != 5 {
		t.Errorf("%d requests, want one for the Deployment, one for its ReplicaSet and three for the pods", n)
	}
}

func TestUnschedulablePodSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "api"}, Spec: appsv1.DeploymentSpec{Selector: selector("api"), Template: template("api", "")}}
	d.Spec.Template.Spec.NodeSelector = map[string]string{"no-such": "node"}
	if _, err := b.admin.AppsV1().Deployments(b.namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.pods("api", 1, func(p *corev1.Pod) bool { return len(p.Status.Conditions) > 0 })
	o, err := b.workload(b.cluster.Config(), "api", nil).Check(t.Context())
	if err != nil || !strings.Contains(o.Failure, "Unschedulable: ") {
		t.Errorf("got %+v, %v", o, err)
	}
}

// StatefulSets and DaemonSets own their pods themselves, and say their revision
// elsewhere.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	apps := b.admin.AppsV1()
	meta := metav1.ObjectMeta{Name: "db"}
	if _, err := apps.StatefulSets(b.namespace).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: meta,
		Spec: appsv1.StatefulSetSpec{Selector: selector("db"), Template: template("db", crash)}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	meta.Name = "agent"
	if _, err := apps.DaemonSets(b.namespace).Create(t.Context(), &appsv1.DaemonSet{ObjectMeta: meta,
		Spec: appsv1.DaemonSetSpec{Selector: selector("agent"), Template: template("agent", crash)}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]workload.Kind{"db": workload.StatefulSet, "agent": workload.DaemonSet} {
		b.pods(name, 1, settled(crash))
		w := b.workload(b.cluster.Config(), name, func(c *workload.Config) { c.Kind = kind })
		s := b.supervisor(w, supervise.Policy{Restarts: 1, Pause: -1})
		if n := b.park(s, name, 1); n != 1 {
			t.Errorf("%s: %d restarts", kind, n)
		}
		was, _, err := w.Load(t.Context())
		if err != nil || was.Revision == "" {
			t.Errorf("%s: %+v, %v", kind, was, err)
		}
		next := []byte(`{"spec":{"template":{"metadata":{"labels":{"v":"2"}}}}}`)
		if kind == workload.StatefulSet {
			_, err = apps.StatefulSets(b.namespace).Patch(t.Context(), name, "application/merge-patch+json", next, metav1.PatchOptions{})
		} else {
			_, err = apps.DaemonSets(b.namespace).Patch(t.Context(), name, "application/merge-patch+json", next, metav1.PatchOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		b.pods(name, 1, settled(crash))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		for {
			r, err := s.Step(ctx)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if !r.State.IsParked() && r.Observation.Revision != was.Revision {
				break
			}
		}
		cancel()
	}
}

// A workload that is gone, is going, or is another one of its name is not restarted.
func TestAnotherObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.deployment("api", 1, crash)
	w := b.workload(b.cluster.Config(), "api", nil)
	s, version, err := w.Load(t.Context())
	if err != nil || s != (supervise.State{}) {
		t.Fatalf("%+v, %v", s, err)
	}
	one := supervise.State{Revision: "1", Failures: 1}
	// Of any version, since controllers write others: the UID of another object alone.
	if err := w.Save(t.Context(), one, "00000000-0000-0000-0000-000000000000/"); err == nil || !strings.Contains(err.Error(), "metadata.uid") {
		t.Errorf("another UID: %v", err)
	}
	if err := w.Save(t.Context(), one, string(old.UID)+"/1"); !is(err, supervise.ErrConflict) {
		t.Errorf("another version: %v", err)
	}
	if parked, budget := b.marks("api"); parked != "" || budget != "" {
		t.Errorf("it was written: %q, %q", parked, budget)
	}

	deployments := b.admin.AppsV1().Deployments(b.namespace)
	b.patch("api", `{"metadata":{"finalizers":["test.pharos.example/stays"]}}`)
	if err := deployments.Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.supervisor(w, hasty).Step(t.Context()); err == nil || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("being deleted: %v", err)
	}
	b.patch("api", `{"metadata":{"finalizers":null}}`)
	b.deployment("api", 1, crash)
	if err := w.Save(t.Context(), one, version); !is(err, supervise.ErrConflict) {
		t.Errorf("another object: %v", err)
	}
	if parked, budget := b.marks("api"); parked != "" || budget != "" {
		t.Errorf("it was written: %q, %q", parked, budget)
	}
	if err := deployments.Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := b.supervisor(w, hasty).Step(t.Context())
	if err == nil || !strings.Contains(err.Error(), "read Deployment "+b.namespace+"/api: ") || r.Action != supervise.None {
		t.Errorf("gone: %+v, %v", r, err)
	}
}

func TestDamagedAnnotationLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	s := b.supervisor(b.workload(b.cluster.Config(), "api", nil), hasty)
	for _, damaged := range []string{"{", `{"version":2}`} {
		b.patch("api", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, keys.RestartBudget, damaged))
		_, err := s.Step(t.Context())
		for what, err := range map[string]error{"step": err, "unpark": s.Unpark(t.Context())} {
			if !is(err, supervise.ErrDamaged) || !strings.Contains(err.Error(), "Deployment "+b.namespace+"/api: annotation "+keys.RestartBudget) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, budget := b.marks("api"); budget != damaged {
			t.Errorf("it became %q", budget)
		}
	}
	b.patch("api", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, keys.RestartBudget))
	if r := b.step(s); r.State.Failures != 1 {
		t.Errorf("when it was removed: %+v", r)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := workload.New(workload.Config{Kind: "Job", Patience: -1})
	if !is(err, supervise.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"Client, Namespace and Name", `Kind is "Job"`, "Patience is -1ns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	var client dynamic.Interface = &dynamic.DynamicClient{}
	if _, err := workload.New(workload.Config{Client: client, Kind: workload.DaemonSet, Namespace: "a", Name: "b"}); err != nil {
		t.Error(err)
	}
}
