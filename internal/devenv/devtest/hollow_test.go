package devtest_test

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// awaitPod waits until a pod of the app is as wanted, and returns it.
func awaitPod(t *testing.T, client kubernetes.Interface, ns, app string, want func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Without a version, a watch begins with what is there.
	w, err := client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *corev1.Pod
	for e := range w.ResultChan() {
		if pod, ok := e.Object.(*corev1.Pod); ok {
			if last = pod; want(pod) {
				return pod
			}
		}
	}
	t.Fatalf("the pod of %s is not as wanted: %+v", app, last)
	return nil
}

func condition(pod *corev1.Pod, of corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == of {
			return c
		}
	}
	return corev1.PodCondition{}
}

func TestHollowNodeIsHonest(t *testing.T) {
	t.Parallel()
	nodes, err := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 1 {
		t.Fatalf("got %d nodes, want 1", len(nodes.Items))
	}
	node := nodes.Items[0]
	if notice := node.Annotations["pharos.dev/hollow-notice"]; !strings.Contains(notice, "none of their containers ever runs") {
		t.Errorf("the node's notice is %q", notice)
	}
	if runtime := node.Status.NodeInfo.ContainerRuntimeVersion; runtime != "none://hollow" {
		t.Errorf("the node's runtime is %q, want none", runtime)
	}
}

func TestPodBecomesReady(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	client := devtest.Client(t, c.Config())
	if _, err := client.AppsV1().Deployments(ns).Create(t.Context(), deployment("web", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPod(t, client, ns, "web", func(p *corev1.Pod) bool { return condition(p, corev1.PodReady).Status == corev1.ConditionTrue })
}

func TestUnschedulablePodSaysWhy(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	client := devtest.Client(t, c.Config())
	d := deployment("big", func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
	})
	if _, err := client.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := awaitPod(t, client, ns, "big", func(p *corev1.Pod) bool {
		return condition(p, corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
	})
	if pod.Status.Phase != corev1.PodPending {
		t.Errorf("phase: got %s, want Pending", pod.Status.Phase)
	}
	if message := condition(pod, corev1.PodScheduled).Message; !strings.Contains(message, "Insufficient cpu") {
		t.Errorf("the scheduler's message is %q, want one that names the cpu", message)
	}
}

func TestPodWaitsForTheReasonItNames(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	client := devtest.Client(t, c.Config())
	d := deployment("broken", func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"hollow.pharos.dev/waiting": "ImagePullBackOff", "hollow.pharos.dev/message": `no "such" image`}
	})
	if _, err := client.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := awaitPod(t, client, ns, "broken", func(p *corev1.Pod) bool { return len(p.Status.ContainerStatuses) > 0 })
	waiting := pod.Status.ContainerStatuses[0].State.Waiting
	if waiting == nil || waiting.Reason != "ImagePullBackOff" || waiting.Message != `no "such" image` {
		t.Errorf("the container's state is %+v", pod.Status.ContainerStatuses[0].State)
	}
	if pod.Status.Phase != corev1.PodPending {
		t.Errorf("phase: got %s, want Pending", pod.Status.Phase)
	}

	// Without the annotation the pod runs.
	delete(pod.Annotations, "hollow.pharos.dev/waiting")
	if _, err := client.CoreV1().Pods(ns).Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPod(t, client, ns, "broken", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

func TestJobsEndAsTheirPodsSay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations map[string]string
		want        batchv1.JobConditionType
	}{
		"ok":     {nil, batchv1.JobComplete},
		"failed": {map[string]string{"hollow.pharos.dev/exit-code": "3", "hollow.pharos.dev/message": "no"}, batchv1.JobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			ns := devtest.Namespace(t, c)
			client := devtest.Client(t, c.Config())
			none := int32(0)
			_, err := client.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: batchv1.JobSpec{
					BackoffLimit: &none,
					Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations},
						Spec: corev1.PodSpec{
							RestartPolicy: corev1.RestartPolicyNever,
							Containers:    []corev1.Container{{Name: "main", Image: "example.invalid/main"}},
						},
					},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			w, err := client.BatchV1().Jobs(ns).Watch(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			for e := range w.ResultChan() {
				job, ok := e.Object.(*batchv1.Job)
				if !ok {
					continue
				}
				for _, c := range job.Status.Conditions {
					if c.Type == test.want && c.Status == corev1.ConditionTrue {
						return
					}
				}
			}
			t.Fatalf("the Job did not become %s", test.want)
		})
	}
}
