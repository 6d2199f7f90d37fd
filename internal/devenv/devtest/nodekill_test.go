package devtest_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The kubelet and the API server of a node can be killed and started again. What runs goes on meanwhile, what was written
// is there, and all works afterwards. Not in parallel: each test of the node would notice.
func TestNodePartsAreKilled(t *testing.T) {
	n, client, ns := onNode(t)
	pods := client.CoreV1().Pods(ns)
	now := int64(0)
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ticks"},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &now, Containers: []corev1.Container{{
			Name: "main", Image: n.Busybox(), Command: []string{"sh", "-c", "i=0; while true; do i=$((i+1)); echo tick $i; usleep 100000; done"}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ticks := func() int {
		log, err := pods.GetLogs("ticks", &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			return 0
		}
		return strings.Count(string(log), "tick ")
	}
	until := func(what string, is func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) { return is(), nil })
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	until("the pod prints", func() bool { return ticks() > 0 })
	before := ticks()

	if err := n.StartKubelet(t.Context()); err == nil {
		t.Error("a kubelet that runs was started")
	}
	if err := n.KillKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.KillKubelet(t.Context()); err == nil {
		t.Error("a kubelet that is gone was killed")
	}
	if got := ticks(); got > 0 {
		t.Errorf("without a kubelet a log has %d lines", got)
	}
	if err := n.StartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("the pod went on", func() bool { return ticks() > before })

	if err := n.KillAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(t.Context(), "ticks", metav1.GetOptions{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without an API server: %v", err)
	}
	if err := n.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	before = ticks()
	until("the pod went on", func() bool { return ticks() > before })
	p, err := pods.Get(t.Context(), "ticks", metav1.GetOptions{})
	if err != nil || len(p.Status.ContainerStatuses) != 1 || p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the pod is %+v, %v", p, err)
	}
	if got := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: n.Busybox(), Command: []string{"echo", "works"}}}}); got != "works\n" {
		t.Errorf("a Job printed %q", got)
	}
}
