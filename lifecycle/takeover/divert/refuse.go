package divert

import (
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// missing refuses a container that is none.
func (p *plan) missing() {
	for _, c := range p.live.Spec.Template.Spec.InitContainers {
		if c.Name == p.Container {
			p.refuse("Name one of its containers.", "%q is an init container of %s", p.Container, p.Subject)
			return
		}
	}
	var names []string
	for _, c := range p.live.Spec.Template.Spec.Containers {
		names = append(names, c.Name)
	}
	p.refuse("Name one of its containers: "+strings.Join(names, ", "), "%s has no container %q", p.Subject, p.Container)
}

// object refuses by whose the object is.
func (p *plan) object() {
	if p.declared.Name != p.live.Name || p.declared.Namespace != "" && p.declared.Namespace != p.live.Namespace {
		p.refuse("Deliver first: kubectl pharos reconcile", "Git declares Deployment %s/%s, and not %s", p.declared.Namespace, p.declared.Name, p.Subject)
	}
	for _, o := range p.live.OwnerReferences {
		p.refuse("Take over what its owner declares, or stop the owner.", "%s belongs to %s %s, which would write it again", p.Subject, o.Kind, o.Name)
	}
	if p.live.DeletionTimestamp != nil {
		p.refuse("Wait until it is gone, and deliver: kubectl pharos reconcile", "%s is being deleted", p.Subject)
	}
}

// rollout refuses what cannot be rolled out now.
func (p *plan) rollout() {
	s, replicas := p.live.Status, ptr.Deref(p.live.Spec.Replicas, 1)
	next := "Wait for it: kubectl rollout status deployment/" + p.Name + " --namespace " + p.Namespace
	switch {
	case p.live.Spec.Paused:
		p.refuse("Resume it: kubectl rollout resume deployment/"+p.Name+" --namespace "+p.Namespace, "the rollout of %s is paused", p.Subject)
	case replicas == 0:
		p.refuse("Scale it up first: no pod would take the traffic.", "%s has no replicas", p.Subject)
	case s.ObservedGeneration < p.live.Generation, s.UpdatedReplicas < replicas, s.Replicas > s.UpdatedReplicas:
		p.refuse(next, "a rollout of %s is in progress", p.Subject)
	}
	if p.live.Spec.Template.Spec.HostNetwork {
		p.refuse("Give it a network of its own for as long as it is taken over.",
			"pods of %s have the network of their node, where two agents would have the same ports, and one does while it rolls", p.Subject)
	}
	if ports := p.hostPorts(); len(ports) > 0 && p.away() == 0 && p.live.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		p.refuse("Let maxUnavailable be 1 or more, or leave the hostPort out.",
			"a new pod of %s has to start beside an old one, and both want a port of the node (hostPort)", p.Subject)
	}
}

// hostPorts are the ports of the node that the pods want.
func (p *plan) hostPorts() (list []int32) {
	spec := p.live.Spec.Template.Spec
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				list = append(list, port.HostPort)
			}
		}
	}
	return list
}

// away is how many pods may be missing while it rolls.
func (p *plan) away() int { return away(p.live.Deployment) }

func away(d appsv1.Deployment) int {
	replicas := int(ptr.Deref(d.Spec.Replicas, 1))
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return replicas
	}
	preset := intstr.FromString("25%")
	r := ptr.Deref(d.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	unavailable, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(r.MaxUnavailable, preset)), replicas, false)
	if err != nil {
		return 0
	}
	surge, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(r.MaxSurge, preset)), replicas, true)
	if err == nil && surge == 0 && unavailable == 0 {
		return 1 // as the Deployment controller does
	}
	return min(unavailable, replicas)
}

// pods refuses pods in which the agent cannot run.
func (p *plan) pods() {
	spec := p.live.Spec.Template.Spec
	if os := ptr.Deref(spec.OS, corev1.PodOS{}).Name; os == corev1.Windows || spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows) {
		p.refuse("Leave it out.", "pods of %s run on Windows, and the agent runs on Linux", p.Subject)
	}
	for _, m := range p.of.VolumeMounts {
		for _, file := range []string{Program, wire.SessionPath} {
			if hides(m.MountPath, file) {
				p.refuse("Mount it elsewhere.", "volume %q of container %q is mounted at %s, where the agent has %s", m.Name, p.Container, m.MountPath, file)
			}
		}
	}
}

// hides says whether a mount hides a file of the image.
func hides(mount, file string) bool {
	mount = path.Clean("/" + mount)
	return mount == file || mount == "/" || strings.HasPrefix(file, mount+"/")
}

// image refuses images that the nodes would not pull, or that are the agent's already.
func (p *plan) image() {
	if p.of.ImagePullPolicy == corev1.PullNever {
		p.refuse("Let it be IfNotPresent.", "container %q has imagePullPolicy Never, so that no node would get the agent", p.Container)
	}
	image := p.of.Image
	switch {
	case digestOf(image) != "" && digestOf(image) == digestOf(p.agent):
		p.refuse("Hand it back first: kubectl pharos handback", "%s is taken over already", p.Subject)
	case !byDigest.MatchString(image):
		p.refuse("Deliver it with Pharos, which names images by digest: kubectl pharos reconcile", "container %q runs image %q, which is not named by digest", p.Container, image)
	}
	_, declared := p.declared.container(p.Container)
	if declared == nil {
		return // its values are refused
	}
	// As Git declares it: admission that has it pulled from elsewhere does so with the
	// agent's, too.
	if from, of := folderOf(p.agent), folderOf(declared.Image); from != of {
		p.warning("the agent comes from %s, and the image of container %q from %s: the nodes have to be able to pull from both with the pod's credentials", from, p.Container, of)
	}
}
