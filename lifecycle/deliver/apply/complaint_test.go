package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// podStatus reads a status as a kubelet writes it.
func podStatus(t testing.TB, text string) corev1.Pod {
	t.Helper()
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object{"status": map[string]any(readObject(t, text))}, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	podPulls = `{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image "x"}}}]}`
	podLoops = `{phase: Running, containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff, message: back-off 10s}},
		lastState: {terminated: {exitCode: 2, reason: Error, message: "no such\n table"}}}]}`
	podInit   = `{phase: Pending, initContainerStatuses: [{name: setup, state: {terminated: {exitCode: 137, reason: OOMKilled}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`
	podPlaced = `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available"}]}`
	podStarts = `{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}`
	podProbed = `{phase: Running, containerStatuses: [{name: app, ready: false, state: {running: {}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}`
	podWell   = `{phase: Running, containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`
	podOut    = `{phase: Failed, reason: Evicted, message: The node was low on memory}`
	podDone   = `{phase: Succeeded, containerStatuses: [{name: app, state: {terminated: {exitCode: 0}}}]}`
)

func TestComplaint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status string
		rank   int
		text   string
	}{
		{podPulls, complaintBroken, `container app: ImagePullBackOff: Back-off pulling image "x"`},
		{podLoops, complaintBroken, "container app: CrashLoopBackOff: back-off 10s; it ended with code 2: no such\n table"},
		{podInit, complaintBroken, "container setup: it ended with code 137 (OOMKilled)"},
		{podPlaced, complaintUnplaced, "0/1 nodes are available"},
		{podStarts, complaintStarting, "container app: ContainerCreating"},
		{podProbed, complaintUnready, "container app: it runs, but is not ready; before that it ended with code 1"},
		{podOut, complaintBroken, "Evicted: The node was low on memory"},
		{podWell, complaintNone, ""},
		{podDone, complaintNone, ""},
	} {
		p := podStatus(t, tt.status)
		if rank, text := complaint(&p); rank != tt.rank || text != tt.text {
			t.Errorf("%s:\n got  %d %q\n want %d %q", tt.status, rank, text, tt.rank, tt.text)
		}
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	at := func(name string, second int64, text string) corev1.Pod {
		p := podStatus(t, text)
		p.Name, p.CreationTimestamp = name, metav1.Unix(second, 0)
		return p
	}
	pods := []corev1.Pod{at("old", 1, podLoops), at("new", 2, podLoops), at("newest", 3, podPlaced), at("well", 4, podWell)}
	if got, want := oneLine(worst(pods)), "pod new: container app: CrashLoopBackOff: back-off 10s; it ended with code 2: no such table"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := worst([]corev1.Pod{at("well", 4, podWell), at("done", 5, podDone)}); got != "" {
		t.Errorf("got %q of a pod that is well", got)
	}
}
