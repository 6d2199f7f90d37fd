package job

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// state is how far a build has come.
type state int

const (
	waiting   state = iota // its pod does not run yet
	running                // BuildKit is asked to build
	succeeded              // the image is pushed
	rejected               // BuildKit said why it did not build it
	broken                 // something else ended it, or keeps it from starting for good
)

// outcome is what a Job and its pod have come to.
type outcome struct {
	state  state
	solved dockerfile.Solved
	// reason says why it waits or is broken, in a line.
	reason string
	// message is the end of what a container printed.
	message string
	advice  string
	// unreachable says that something could not be reached or does not let the pod in.
	unreachable bool
	// hopeless says that the Job would go on waiting, and is to be removed.
	hopeless bool
}

func finished(job *batchv1.Job) bool {
	return condition(job, batchv1.JobComplete) != nil || failed(job)
}

func failed(job *batchv1.Job) bool { return condition(job, batchv1.JobFailed) != nil }

func condition(job *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range job.Status.Conditions {
		for _, t := range types {
			if c.Type == t && c.Status == corev1.ConditionTrue {
				return &job.Status.Conditions[i]
			}
		}
	}
	return nil
}

// look says what has become of a Job and its pod, nil if there is none. It does not
// wait for the Job's own word where its pod has said enough.
func look(job *batchv1.Job, pod *corev1.Pod) outcome {
	failure := condition(job, batchv1.JobFailed, batchv1.JobFailureTarget)
	if pod == nil {
		switch {
		case failure != nil:
			return endedBy(failure)
		case condition(job, batchv1.JobComplete) != nil:
			return outcome{state: broken, reason: "it is done, and the pod that has the image's digest is gone"}
		}
		return outcome{state: waiting, reason: "it has no pod yet"}
	}
	build := statusOf(pod.Status.ContainerStatuses, containerBuild)
	if ended := build.State.Terminated; ended != nil && ended.ExitCode == 0 {
		solved, err := parseResult(ended.Message)
		if err != nil {
			return outcome{state: broken, reason: err.Error(), message: ended.Message}
		}
		return outcome{state: succeeded, solved: solved}
	}
	switch {
	case failure != nil && failure.Reason == batchv1.JobReasonDeadlineExceeded:
		return endedBy(failure)
	case pod.DeletionTimestamp != nil: // what ends its containers now is not theirs
		if failure != nil {
			return endedBy(failure)
		}
		return outcome{state: running, reason: "its pod is being deleted"}
	case pod.Status.Reason != "" && pod.Status.Phase == corev1.PodFailed: // Evicted, Terminated, NodeLost
		return outcome{state: broken, reason: sentence(pod.Status.Reason, pod.Status.Message), advice: adviceOn(pod.Status.Reason, pod.Status.Message)}
	}
	if ended := statusOf(pod.Status.InitContainerStatuses, containerInputs).State.Terminated; ended != nil && ended.ExitCode != 0 {
		return inputsFailed(ended)
	}
	if ended := build.State.Terminated; ended != nil {
		return buildFailed(ended, statusOf(pod.Status.InitContainerStatuses, containerBuildKit))
	}
	if failure != nil {
		return endedBy(failure)
	}
	if o := stuck(pod); o.reason != "" {
		return o
	}
	if build.State.Running != nil {
		return outcome{state: running}
	}
	return outcome{state: waiting, reason: notStarted(pod)}
}

func statusOf(statuses []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	for _, s := range statuses {
		if s.Name == name {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// endedBy is about a Job that ended without a word of its pod's.
func endedBy(c *batchv1.JobCondition) outcome {
	o := outcome{state: broken, reason: sentence(c.Reason, c.Message)}
	switch c.Reason {
	case batchv1.JobReasonDeadlineExceeded:
		o.advice = "Allow more time for a build, or find out what it waits for: the log says how far it came."
	case batchv1.JobReasonBackoffLimitExceeded:
		o.reason, o.advice = "its pod was deleted, or went away with its node", "Build again: what is done already is in BuildKit's cache, if Jobs share a volume for it."
	}
	return o
}

// buildFailed is about the container that asks BuildKit to build.
func buildFailed(ended *corev1.ContainerStateTerminated, buildkit corev1.ContainerStatus) outcome {
	if last := buildkit.LastTerminationState.Terminated; last != nil {
		return withCause(outcome{state: broken, reason: "BuildKit ended in the middle of it: " + endOf(last), message: last.Message, unreachable: true,
			advice: "Build again; if it is for want of memory, allow BuildKit more."}, last)
	}
	if ended.Reason == "OOMKilled" || ended.Reason == "ContainerStatusUnknown" {
		return withCause(outcome{state: broken, reason: endOf(ended), message: ended.Message}, ended)
	}
	return outcome{state: rejected, message: ended.Message}
}

// withCause adds what to do where the system ended a container.
func withCause(o outcome, ended *corev1.ContainerStateTerminated) outcome {
	if ended.Reason == "OOMKilled" {
		o.advice = "Allow the build more memory."
	}
	return o
}

// stuck finds a container that will not start by itself.
func stuck(pod *corev1.Pod) outcome {
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		w := s.State.Waiting
		if w == nil {
			continue
		}
		o := outcome{state: broken, hopeless: true, reason: sentence(w.Reason, w.Message)}
		switch w.Reason {
		case "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "SignatureValidationFailed":
			o.unreachable = true
			o.advice = "See that nodes can pull BuildKit's image " + s.Image + ", and with which credentials."
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			o.unreachable = true
		case "CrashLoopBackOff":
			o.unreachable = true
			if last := s.LastTerminationState.Terminated; last != nil {
				o.reason, o.message = s.Name+" does not start: "+lastLine(last.Message), last.Message
			}
			if s.Name == containerBuildKit {
				o.advice = "See that the namespace and the node let a privileged container mount and make namespaces."
			}
		default:
			continue
		}
		return o
	}
	return outcome{}
}

// notStarted says what a pod waits for, as far as it says so itself.
func notStarted(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return sentence(c.Reason, c.Message)
		}
	}
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return sentence(w.Reason, w.Message)
		}
	}
	return "its pod has not started"
}

// ownLimit is what a kubelet says of a pod, a container or a volume that takes more
// of the disk than its own limit.
var ownLimit = lazyregexp.New(`exceeds the (total )?limit|exceeded its local ephemeral storage limit`)

// adviceOn says what to do about the reason of a pod's failure.
func adviceOn(reason, message string) string {
	if reason == "Evicted" {
		if ownLimit.MatchString(message) {
			return "The build takes more of the node's disk than it may: raise ephemeral-storage in buildkit.job.resources.limits of the target, or in the namespace's LimitRange, or keep the cache on a volume."
		}
		return "The node ran out of a resource: make room on it, request more of it for builds, or keep the cache on a volume."
	}
	return "Build again: what is done already is in BuildKit's cache, if Jobs share a volume for it."
}

func sentence(reason, message string) string {
	message = strings.TrimSpace(message)
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	}
	return reason + ": " + message
}

func endOf(t *corev1.ContainerStateTerminated) string {
	return sentence(t.Reason, fmt.Sprintf("exit code %d %s", t.ExitCode, lastLine(t.Message)))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
