package apply

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// How much a pod's complaint tells, most last.
const (
	complaintNone     = iota
	complaintStarting // it may just need time
	complaintUnready  // it runs, and its probe says no
	complaintUnplaced // no node takes it
	complaintBroken   // it cannot start, or does not stay up
)

// complaint is what keeps a pod from being ready, in the words of those who
// tried: the scheduler, the kubelet, or the container's last message.
func complaint(p *corev1.Pod) (rank int, text string) {
	if p.Status.Phase == corev1.PodFailed && p.Status.Message != "" {
		return complaintBroken, reasoned(p.Status.Reason, p.Status.Message)
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if r, t := containerComplaint(c); r > rank {
			rank, text = r, fmt.Sprintf("container %s: %s", c.Name, t)
		}
	}
	if rank == complaintBroken || p.Status.Phase == corev1.PodSucceeded {
		return rank, text
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if c.Message == "" {
				return complaintUnplaced, "it is not scheduled: " + c.Reason
			}
			return complaintUnplaced, c.Message
		}
	}
	return rank, text
}

// starting are the reasons of a container that nothing is wrong with.
var starting = []string{"ContainerCreating", "PodInitializing"}

func containerComplaint(c corev1.ContainerStatus) (int, string) {
	switch w, t := c.State.Waiting, c.State.Terminated; {
	case w != nil && slices.Contains(starting, w.Reason):
		return complaintStarting, reasoned(w.Reason, w.Message)
	case w != nil:
		text := reasoned(w.Reason, w.Message)
		if last := c.LastTerminationState.Terminated; last != nil {
			text += "; " + ended(last)
		}
		return complaintBroken, text
	case t != nil && t.ExitCode != 0:
		return complaintBroken, ended(t)
	case c.State.Running != nil && !c.Ready:
		text := "it runs, but is not ready"
		if c.LastTerminationState.Terminated != nil {
			text += "; before that " + ended(c.LastTerminationState.Terminated)
		}
		return complaintUnready, text
	}
	return complaintNone, ""
}

func ended(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("it ended with code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" {
		text += " (" + t.Reason + ")"
	}
	if m := strings.TrimSpace(t.Message); m != "" {
		text += ": " + m
	}
	return text
}

func reasoned(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}
