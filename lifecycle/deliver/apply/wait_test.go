package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// nowhere makes a pod template that no node takes.
func nowhere(docs string) string {
	return strings.Replace(docs, "    spec:\n      containers", "    spec:\n      nodeSelector: {place: nowhere}\n      containers", 1)
}

// waitUntil waits, and ends the wait when enough says so of what is not ready.
func waitUntil(t *testing.T, b *bench, objects []receipt.Object, enough func([]lifecycle.ObjectStatus) bool) (lifecycle.Observation, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects, Progress: func(o lifecycle.Observation) {
		if enough(o.Unready) {
			stop(errEnough)
		}
	}})
}

var errEnough = errors.New("seen enough")

// unschedulable waits until the scheduler has said that it cannot place a pod
// of the app.
func unschedulable(t *testing.T, b *bench, app string) {
	t.Helper()
	w, err := b.admin.CoreV1().Pods(b.namespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		p, ok := e.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("%v", e.Object)
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return
			}
		}
	}
	t.Fatal("the watch ended")
}

// pastDeadline waits until the Deployment has a pod of its new version and has
// exceeded its progress deadline since.
func pastDeadline(t *testing.T, b *bench, name string) {
	t.Helper()
	w, err := b.admin.AppsV1().Deployments(b.namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		d, ok := e.Object.(*appsv1.Deployment)
		if !ok {
			t.Fatalf("%v", e.Object)
		}
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse &&
				d.Status.UpdatedReplicas == 1 && d.Status.ObservedGeneration == d.Generation {
				return
			}
		}
	}
	t.Fatal("the watch ended")
}

func TestWaitNamesThePodsOwnMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	docs := configMap + "\n---\n" + nowhere(deployment) + "\n---\n" + strings.NewReplacer("name: api", "name: web", "app: api", "app: web").Replace(deployment)
	r := b.request(t, docs)
	if _, err := b.Deliver(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	unschedulable(t, b, "api")
	o, err := waitUntil(t, b, r.Resolved, func(unready []lifecycle.ObjectStatus) bool {
		return len(unready) == 1 && strings.Contains(unready[0].Reason, "available")
	})
	var u *lifecycle.UnhealthyError
	if !errors.As(err, &u) || !errors.Is(err, errEnough) || !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Fatalf("got %v", err)
	}
	if len(u.Unready) != 1 || len(o.Unready) != 1 || len(o.Seen) != 3 {
		t.Fatalf("saw %+v", o)
	}
	mustContain(t, u.Unready[0].Reason, "0 of 1 replicas are available; pod api-", "0/1 nodes are available", "node affinity/selector")
	if u.Unready[0].Failed {
		t.Error("a pod that no node takes yet was called failed for good")
	}
	// Looking once says the same.
	mustContain(t, b.observe(t, lifecycle.ObserveRequest{Objects: r.Resolved}).Unready[0].Reason, "0/1 nodes are available")
}

func TestWaitEndsWhenTheProgressDeadlineIsExceeded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.deliver(t, deployment)
	b.wait(t, before)
	// Only what cannot succeed has so little time: a busy machine may need more.
	hasty := strings.Replace(deployment, "spec:\n", "spec:\n  progressDeadlineSeconds: 1\n", 1)
	objects := b.deliver(t, nowhere(hasty))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects})
	var u *lifecycle.UnhealthyError
	if !errors.As(err, &u) || u.Err != nil || len(u.Unready) != 1 || !u.Unready[0].Failed {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "progress deadline")
	// On a busy machine the pod comes, and the scheduler speaks, after the
	// deadline only: a pod that comes is progress, and begins another one.
	unschedulable(t, b, "api")
	pastDeadline(t, b, "api")
	unready := b.observe(t, lifecycle.ObserveRequest{Objects: objects}).Unready
	if len(unready) != 1 || !unready[0].Failed {
		t.Fatalf("looking once sees %+v", unready)
	}
	mustContain(t, unready[0].Reason, "progress deadline", "0/1 nodes are available")

	// The controller keeps the condition while it rolls back to pods that are
	// there: the wait for that must not end by the earlier failure.
	b.deliver(t, deployment)
	if o := b.wait(t, before); !o.Healthy() {
		t.Errorf("saw %+v", o)
	}
}

// A rollout that has only begun shows the health of the one before.
func TestWaitJudgesTheNewGeneration(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.wait(t, b.deliver(t, deployment))
	for _, image := range []string{"two", "three", "four"} {
		objects := b.deliver(t, strings.ReplaceAll(deployment, "registry.invalid/api", "registry.invalid/"+image))
		b.wait(t, objects)
		d, err := b.admin.AppsV1().Deployments(b.namespace).Get(t.Context(), "api", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedReplicas != 1 || d.Status.Replicas != 1 {
			t.Errorf("%s: not rolled out: generation %d, %+v", image, d.Generation, d.Status)
		}
	}
}

const jobYAML = `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: migrate}}
    spec:
      restartPolicy: Never
      nodeSelector: {place: nowhere}
      containers: [{name: migrate, image: registry.invalid/migrate}]`

func TestWaitForJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	suspended := strings.Replace(strings.ReplaceAll(jobYAML, "migrate", "later"), "spec:\n", "spec:\n  suspend: true\n", 1)
	objects := b.deliver(t, jobYAML+"\n---\n"+suspended)
	unschedulable(t, b, "migrate")
	pods, err := b.admin.CoreV1().Pods(b.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=migrate"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%v %v", pods, err)
	}
	// No node takes the pod, so that what becomes of it is for us to say.
	_, err = waitUntil(t, b, objects, func(unready []lifecycle.ObjectStatus) bool {
		if len(unready) != 1 || unready[0].Object.Name != "migrate" {
			return false
		}
		_, err := b.admin.CoreV1().Pods(b.namespace).Patch(t.Context(), pods.Items[0].Name, types.StrategicMergePatchType, []byte(`{"status":{
			"phase":"Failed","containerStatuses":[{"name":"migrate","image":"x","imageID":"","ready":false,"restartCount":0,
			"state":{"terminated":{"exitCode":3,"reason":"Error","message":"column users.mail is missing"}}}]}}`), metav1.PatchOptions{}, "status")
		if err != nil {
			t.Error(err)
		}
		return err != nil
	})
	var u *lifecycle.UnhealthyError
	if !errors.As(err, &u) || u.Err != nil || len(u.Unready) != 1 || !u.Unready[0].Failed {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "Job "+b.namespace+"/migrate: it failed: BackoffLimitExceeded", "ended with code 3: column users.mail is missing")
}

func TestWaitForCompletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, strings.Replace(jobYAML, "      nodeSelector: {place: nowhere}\n", "", 1))
	b.wait(t, objects)
	j, err := b.admin.BatchV1().Jobs(b.namespace).Get(t.Context(), "migrate", metav1.GetOptions{})
	if err != nil || j.Status.Succeeded != 1 {
		t.Errorf("%+v %v", j.Status, err)
	}
}

func TestWaitNamesWhyPodsCannotBeCreated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: '0'}}")
	b.wait(t, objects)
	quota, err := b.admin.CoreV1().ResourceQuotas(b.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer quota.Stop()
	for e := range quota.ResultChan() {
		if q, ok := e.Object.(*corev1.ResourceQuota); ok && len(q.Status.Hard) > 0 {
			break
		}
	}
	objects = b.deliver(t, deployment)
	_, err = waitUntil(t, b, objects, func(unready []lifecycle.ObjectStatus) bool {
		return len(unready) == 1 && strings.Contains(unready[0].Reason, "exceeded quota")
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("got %v", err)
	}
}

func TestWaitNamesWhyAClaimWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: NS}`)
	events, err := b.admin.CoreV1().Events(b.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	<-events.ResultChan()
	_, err = waitUntil(t, b, objects, func(u []lifecycle.ObjectStatus) bool { return strings.Contains(u[0].Reason, "Pending") })
	if !errors.Is(err, errEnough) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "PVC is not Bound", "ProvisioningFailed", "not found")
}

func TestWaitWithoutTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, configMap)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects})
	if !errors.Is(err, lifecycle.ErrUnhealthy) || !errors.Is(err, context.Canceled) || len(o.Unready) != 1 {
		t.Errorf("got %+v, %v", o, err)
	}
}
