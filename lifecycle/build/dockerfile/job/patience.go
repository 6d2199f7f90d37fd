package job

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// eventsAfter is how long a pod may not have started before events are read for the
// reason, and how long later they are read again, in times that a Job is looked at.
const eventsAfter = 2

// secretMissing is what the kubelet says of a Secret, or of a key in it, that a volume
// needs and that is not there.
var secretMissing = lazyregexp.New(`secret "([^"]+)" not found|references non-existent secret key: (\S+)`)

// hopelessFor says whether an event is about something that does not come by itself.
func (w *wait) hopelessFor(e corev1.Event) (advice string, hopeless bool) {
	if e.Reason == "FailedCreate" && strings.Contains(e.Message, "violates PodSecurity") {
		return "Let the namespace admit privileged pods: kubectl label namespace " + w.config.Namespace + " pod-security.kubernetes.io/enforce=privileged", true
	}
	if m := secretMissing.FindStringSubmatch(e.Message); m != nil && e.Reason == "FailedMount" {
		if m[1] != "" {
			return fmt.Sprintf("Create the Secret %s in namespace %s, or correct its name in the Target (spec.buildkit.job).", m[1], w.config.Namespace), true
		}
		return fmt.Sprintf("Add the key %s to the Secret in namespace %s: a build secret or SSH key is under the id that images declare, the Git server's are under credentials.", m[2], w.config.Namespace), true
	}
	return "", false
}

// impatient gives up what has not started: at once if an event says that it will not
// by itself, else when it was waited for long enough.
func (w *wait) impatient(ctx context.Context, o outcome, job *batchv1.Job, pod *corev1.Pod) (outcome, error) {
	now := time.Now()
	late := now.Sub(w.began) > w.config.StartWithin
	if pod != nil && pulling(pod) {
		late = false // of a large image; what fails of it has a reason of its own
	}
	if !late && now.Sub(latest(w.began, w.asked)) < eventsAfter*w.interval {
		return o, nil
	}
	w.asked = now
	said, err := w.warnings(ctx, job, pod)
	if err != nil {
		w.config.Log.DebugContext(ctx, "the events of a Job cannot be read", "job", w.job.Name, "error", err)
	}
	for _, e := range said {
		if advice, hopeless := w.hopelessFor(e); hopeless {
			return outcome{state: broken, hopeless: true, unreachable: true, reason: sentence(e.Reason, e.Message), advice: advice}, nil
		}
	}
	if len(said) > 0 {
		o.reason = sentence(said[0].Reason, said[0].Message)
	}
	if late {
		o.state, o.hopeless, o.unreachable = broken, true, true
		o.reason = "its pod did not start within " + w.config.StartWithin.String() + ": " + o.reason
		o.advice = "Mend what it waits for, and build again."
	}
	return o, nil
}

// pulling holds for a pod that has a node and that misses nothing but images.
func pulling(pod *corev1.Pod) bool {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	})
	return ready && pod.Spec.NodeName != ""
}

// warnings are what was said of the Job and its pod that is no good, the last first.
func (w *wait) warnings(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) ([]corev1.Event, error) {
	of := string(job.UID)
	if pod != nil {
		of = string(pod.UID)
	}
	events, err := w.api.events(ctx, of)
	if err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(events, func(e corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return saidAt(b).Compare(saidAt(a)) })
	return events, nil
}

func saidAt(e corev1.Event) time.Time {
	return latest(e.LastTimestamp.Time, e.EventTime.Time)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
