package apply

import "testing"

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, object string
		want         verdict
	}{
		{"a kind without status", `{apiVersion: v1, kind: ConfigMap}`, verdict{ready: true, reason: "Resource is always ready"}},
		{"on its way out", `{apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, verdict{reason: "it is being deleted"}},
		{"counted", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {replicas: 2, updatedReplicas: 2}}`,
			verdict{reason: "0 of 2 replicas are available"}},
		{"the replicas before", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}, status: {replicas: 2, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1}}`,
			verdict{reason: "replicas of the rollout before are still there: 1"}},
		{"paused", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, paused: true}, status: {replicas: 2, updatedReplicas: 1}}`,
			verdict{reason: "1 of 2 replicas are updated; it is paused"}},
		{"the generation before", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, status: {observedGeneration: 1}}`,
			verdict{reason: "Deployment generation is 2, but latest observed generation is 1"}},
		{"a failure of this rollout", rolledOut("2026-01-01T00:00:01Z"),
			verdict{failed: true, reason: "its progress deadline is exceeded: it timed out"}},
		{"a failure of the rollout before", rolledOut("2026-01-01T00:00:00Z"),
			verdict{reason: "the new rollout has not moved yet; the one before exceeded its progress deadline"}},
		{"a Job that runs", `{apiVersion: batch/v1, kind: Job, status: {startTime: "2026-01-01T00:00:00Z"}}`, verdict{reason: "it has not completed yet"}},
		{"a Job that waits", `{apiVersion: batch/v1, kind: Job}`, verdict{reason: "Job not started"}},
		{"a suspended Job", `{apiVersion: batch/v1, kind: Job, spec: {suspend: true}}`, verdict{ready: true, reason: "Job not started"}},
		{"a complete Job", `{apiVersion: batch/v1, kind: Job, status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`,
			verdict{ready: true, reason: "Job Completed. succeeded: 1/1"}},
		{"a failed Job", `{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded, message: too late}]}}`,
			verdict{failed: true, reason: "it failed: DeadlineExceeded: too late"}},
		{"a failed Pod", `{apiVersion: v1, kind: Pod, status: {phase: Failed}}`, verdict{failed: true, reason: "it failed"}},
		{"a Pod that no node takes", `{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}}`,
			verdict{reason: "Pod could not be scheduled"}},
		{"a claim", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, verdict{reason: "PVC is not Bound. phase: Pending"}},
		{"a resource that is stalled", `{apiVersion: x.io/v1, kind: X, status: {conditions: [{type: Stalled, status: "True", message: stuck}]}}`,
			verdict{failed: true, reason: "stuck"}},
	} {
		got := judge(readObject(t, tt.object), "pharos")
		if got != tt.want {
			t.Errorf("%s:\n got  %+v\n want %+v", tt.name, got, tt.want)
		}
	}
}

// What cannot be read is not ready.
func TestJudgeOddStatus(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Job", "Deployment", "Pod", "X"} {
		for _, status := range []string{"{conditions: 3}", "{conditions: [3]}", "{observedGeneration: x}"} {
			o := readObject(t, "{apiVersion: batch/v1, kind: "+kind+", metadata: {generation: 1}, status: "+status+"}")
			if got := judge(o, "pharos"); got.ready || got.failed || got.reason == "" {
				t.Errorf("%s with status %s: %+v", kind, status, got)
			}
		}
	}
}

// rolledOut is a Deployment that was applied in second 0 and failed then.
func rolledOut(failed string) string {
	return `{apiVersion: apps/v1, kind: Deployment,
		metadata: {generation: 1, managedFields: [{manager: pharos, operation: Apply, time: "2026-01-01T00:00:00Z", fieldsV1: {}}]},
		spec: {progressDeadlineSeconds: 1}, status: {observedGeneration: 1, conditions: [
		{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: it timed out, lastUpdateTime: "` + failed + `"}]}}`
}
