package job

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

func jobWith(conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{Status: batchv1.JobStatus{Conditions: conditions}}
}

func jobFailed(reason string) *batchv1.Job {
	return jobWith(batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason, Message: "said the Job"})
}

func podWith(status corev1.PodStatus) *corev1.Pod { return &corev1.Pod{Status: status} }

func terminated(name string, code int32, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}
}

func waits(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func restarted(status corev1.ContainerStatus, message string) corev1.ContainerStatus {
	status.RestartCount = 1
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", Message: message}
	return status
}

func statuses(s ...corev1.ContainerStatus) []corev1.ContainerStatus { return s }

func TestLook(t *testing.T) {
	t.Parallel()
	deleted := podWith(corev1.PodStatus{ContainerStatuses: statuses(terminated("build", 137, "Error", ""))})
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, tc := range map[string]struct {
		job         *batchv1.Job
		pod         *corev1.Pod
		want        state
		reason      string
		unreachable bool
		hopeless    bool
	}{
		"new":     {job: jobWith(), want: waiting, reason: "no pod"},
		"done":    {job: jobWith(), pod: podWith(corev1.PodStatus{ContainerStatuses: statuses(terminated("build", 0, "Completed", "version v1\n  \"containerimage.digest\": \""+digest+"\"\n"))}), want: succeeded},
		"no word": {job: jobWith(), pod: podWith(corev1.PodStatus{ContainerStatuses: statuses(terminated("build", 0, "Completed", ""))}), want: broken, reason: "metadata"},
		"done, and its pod is gone": {job: jobWith(batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}),
			want: broken, reason: "is gone"},
		"rejected":     {job: jobWith(), pod: podWith(corev1.PodStatus{ContainerStatuses: statuses(terminated("build", 1, "Error", "error: no"))}), want: rejected},
		"deadline":     {job: jobFailed("DeadlineExceeded"), pod: deleted, want: broken, reason: "DeadlineExceeded: said the Job"},
		"pod deleted":  {job: jobWith(), pod: deleted, want: running},
		"pod is gone":  {job: jobFailed("BackoffLimitExceeded"), want: broken, reason: "deleted, or went away"},
		"pod and word": {job: jobFailed("BackoffLimitExceeded"), pod: deleted, want: broken, reason: "deleted, or went away"},
		"evicted": {job: jobWith(), pod: podWith(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage.",
			ContainerStatuses: statuses(terminated("build", 137, "Error", ""))}), want: broken, reason: "Evicted: The node was low on resource"},
		"no inputs": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(terminated("inputs", 69, "Error", "warning\nfatal: unable to access"))}),
			want: broken, reason: "fetched from the Git server: fatal: unable to access", unreachable: true},
		"no room for inputs": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(terminated("inputs", 69, "Error",
			"fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output"))}),
			want: broken, reason: "no room for its inputs: fatal: write error: No space left on device"},
		"no repository for inputs": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(terminated("inputs", 128, "Error", "fatal: cannot mkdir"))}),
			want: broken, reason: "could not be fetched: Error: exit code 128 fatal: cannot mkdir"},
		"name of inputs": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(terminated("inputs", 73, "Error", "error: invalid path 'a/.GIT'\nfatal: x"))}),
			want: broken, reason: "could not be written: error: invalid path 'a/.GIT'"},
		"other inputs": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(terminated("inputs", 65, "Error", "the Git server has"))}),
			want: broken, reason: "the Git server has"},
		"BuildKit killed": {job: jobWith(), pod: podWith(corev1.PodStatus{
			InitContainerStatuses: statuses(restarted(corev1.ContainerStatus{Name: "buildkitd"}, "x")),
			ContainerStatuses:     statuses(terminated("build", 1, "Error", "error: transport"))}), want: broken, reason: "BuildKit ended in the middle of it: OOMKilled", unreachable: true},
		"BuildKit crashes": {job: jobWith(), pod: podWith(corev1.PodStatus{
			InitContainerStatuses: statuses(restarted(waits("buildkitd", "CrashLoopBackOff", "back-off"), "log\nno mount"))}),
			want: broken, reason: "buildkitd does not start: no mount", unreachable: true, hopeless: true},
		"image": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(waits("buildkitd", "ImagePullBackOff", "no such image"))}),
			want: broken, reason: "ImagePullBackOff: no such image", unreachable: true, hopeless: true},
		"image once": {job: jobWith(), pod: podWith(corev1.PodStatus{InitContainerStatuses: statuses(waits("buildkitd", "ErrImagePull", "no route"))}),
			want: waiting, reason: "ErrImagePull: no route"},
		"no Secret": {job: jobWith(), pod: podWith(corev1.PodStatus{ContainerStatuses: statuses(waits("build", "CreateContainerConfigError", "secret not found"))}),
			want: broken, reason: "secret not found", unreachable: true, hopeless: true},
		"unschedulable": {job: jobWith(), pod: podWith(corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes"}}}), want: waiting, reason: "Unschedulable: 0/1 nodes"},
		"runs": {job: jobWith(), pod: podWith(corev1.PodStatus{ContainerStatuses: statuses(corev1.ContainerStatus{Name: "build",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})}), want: running},
	} {
		o := look(tc.job, tc.pod)
		if o.state != tc.want || !strings.Contains(o.reason, tc.reason) || tc.reason == "" && tc.want == broken || o.unreachable != tc.unreachable || o.hopeless != tc.hopeless {
			t.Errorf("%s: %+v, want %v because of %q", name, o, tc.want, tc.reason)
		}
		if o.state == succeeded && (o.solved.Digest != digest || o.solved.Version != "v1") {
			t.Errorf("%s: %+v", name, o.solved)
		}
	}
}
