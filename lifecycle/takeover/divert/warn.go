package divert

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// memory is what an agent with thousands of connections takes at most.
const memory = "64Mi"

// warn says what the rollout of the agent, and that of the hand-back, bring with them.
func (p *plan) warn() {
	spec := p.live.Spec.Template.Spec
	if names := restarted(spec, p.Container); names != "" {
		p.warning("the pods are replaced, so these containers start again, too: %s", names)
	}
	if names := once(spec); names != "" {
		p.warning("init containers run again in each new pod: %s", names)
	}
	for _, v := range spec.Volumes {
		if v.EmptyDir != nil || v.Ephemeral != nil {
			p.warning("what is in volume %q goes with the pods", v.Name)
		}
	}
	switch n := p.away(); {
	case p.live.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		p.warning("its strategy is Recreate: requests fail between the old pods and the new ones")
	case n > 0:
		p.warning("up to %d of its %d pods are missing while it rolls (maxUnavailable)", n, ptr.Deref(p.live.Spec.Replicas, 1))
	}
	if n := p.live.Status.UnavailableReplicas; n > 0 {
		p.warning("%d of its pods are not available now", n)
	}
	if seconds := ptr.Deref(spec.TerminationGracePeriodSeconds, 30); seconds < 10 {
		p.warning("its pods get %d s to end: what takes longer is cut off when they are replaced", seconds)
	}
	// A Quantity keeps its text when it is printed, so that none is shared.
	if limit, ok := p.of.Resources.Limits[corev1.ResourceMemory]; ok && limit.Cmp(resource.MustParse(memory)) < 0 {
		p.warning("container %q may use %s of memory; an agent with thousands of connections takes up to %s", p.Container, limit.String(), memory)
	}
	p.hooks()
}

// hooks warns of those that ask the container for something.
func (p *plan) hooks() {
	l := ptr.Deref(p.of.Lifecycle, corev1.Lifecycle{})
	for _, h := range []struct {
		name string
		of   *corev1.LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
		switch {
		case h.of == nil:
		case h.of.Exec != nil:
			p.warning("its %s hook does not run while it is taken over", h.name)
		case h.of.HTTPGet != nil:
			p.warning("its %s hook is a request to the container, which the process on the workstation gets", h.name)
		}
	}
}

// restarted names the other containers of the pods.
func restarted(spec corev1.PodSpec, but string) string {
	var names []string
	for _, c := range spec.InitContainers {
		if sidecar(c) {
			names = append(names, c.Name)
		}
	}
	for _, c := range spec.Containers {
		if c.Name != but {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// once names the init containers that end.
func once(spec corev1.PodSpec) string {
	var names []string
	for _, c := range spec.InitContainers {
		if !sidecar(c) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

func sidecar(c corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}
