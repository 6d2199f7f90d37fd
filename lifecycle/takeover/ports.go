package takeover

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// ports are what the agent of a workload listens on: the container's declared ports,
// and those that its probes and the Services before it name.
type ports struct {
	container corev1.Container
	// others are the ports of the pod's other containers.
	others map[int32]bool
	list   []wire.Port
}

// sessionOf fills in what a session's public part says of a workload.
func sessionOf(w Workload, declared []Declared, s wire.Session) (wire.Session, error) {
	var d appsv1.Deployment
	if err := json.Unmarshal(w.Live, &d); err != nil {
		return s, fmt.Errorf("read %s: %w", w.Subject(), err)
	}
	pod := d.Spec.Template
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == w.Container })
	if i < 0 {
		return s, fmt.Errorf("%s has no container %q", w.Subject(), w.Container)
	}
	p := &ports{container: pod.Spec.Containers[i], others: map[int32]bool{}}
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			p.others[port.ContainerPort] = p.others[port.ContainerPort] || c.Name != w.Container
		}
	}
	for _, port := range p.container.Ports {
		if cmp.Or(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			p.add(port.ContainerPort, "")
		}
	}
	for _, probe := range []*corev1.Probe{p.container.LivenessProbe, p.container.ReadinessProbe, p.container.StartupProbe} {
		p.probe(probe)
	}
	for _, o := range declared {
		if o.Group == "" && o.Kind == "Service" && o.Namespace == w.Namespace {
			if err := p.service(o.JSON, pod.Labels); err != nil {
				return s, fmt.Errorf("read Service %s/%s: %w", o.Namespace, o.Name, err)
			}
		}
	}
	slices.SortFunc(p.list, func(a, b wire.Port) int { return cmp.Compare(a.Number, b.Number) })
	grace := time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 30)) * time.Second
	s.Version, s.Ports, s.Control, s.Workload = wire.Version, p.list, wire.ControlPort(p.list), w.Subject()
	s.Away, s.Grace, s.Drain = wire.DefaultAway, wire.Duration(grace), wire.DrainFor(grace)
	return s, nil
}

// add adds a port, and the kind of a probe on it.
func (p *ports) add(number int32, probe string) {
	if number <= 0 || number > 65535 {
		return
	}
	i := slices.IndexFunc(p.list, func(o wire.Port) bool { return int32(o.Number) == number })
	if i < 0 {
		i = len(p.list)
		p.list = append(p.list, wire.Port{Number: uint16(number), Name: p.name(number)})
	}
	if probe != "" && !contains(p.list[i].Probes, probe) {
		p.list[i].Probes = append(p.list[i].Probes, probe)
		slices.Sort(p.list[i].Probes)
	}
}

func (p *ports) name(number int32) string {
	for _, port := range p.container.Ports {
		if port.ContainerPort == number {
			return port.Name
		}
	}
	return ""
}

// number is the container's port that a reference names, 0 if it names none.
func (p *ports) number(ref intstr.IntOrString) int32 {
	if ref.Type == intstr.Int {
		return ref.IntVal
	}
	for _, port := range p.container.Ports {
		if port.Name == ref.StrVal {
			return port.ContainerPort
		}
	}
	return 0
}

func (p *ports) probe(probe *corev1.Probe) {
	switch {
	case probe == nil:
	case probe.HTTPGet != nil && probe.HTTPGet.Scheme == corev1.URISchemeHTTPS:
		p.add(p.number(probe.HTTPGet.Port), "") // the process answers it
	case probe.HTTPGet != nil:
		p.add(p.number(probe.HTTPGet.Port), wire.ProbeHTTP)
	case probe.TCPSocket != nil:
		p.add(p.number(probe.TCPSocket.Port), wire.ProbeTCP)
	case probe.GRPC != nil:
		p.add(probe.GRPC.Port, wire.ProbeGRPC)
	}
}

// service adds the ports that a Service sends to. One that names a port of another
// container of the pod is not ours.
func (p *ports) service(doc []byte, of map[string]string) error {
	var s corev1.Service
	if err := json.Unmarshal(doc, &s); err != nil {
		return err
	}
	if len(s.Spec.Selector) == 0 || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(of)) {
		return nil
	}
	for _, port := range s.Spec.Ports {
		if cmp.Or(port.Protocol, corev1.ProtocolTCP) != corev1.ProtocolTCP {
			continue
		}
		target := port.TargetPort
		if target == (intstr.IntOrString{}) {
			target = intstr.FromInt32(port.Port)
		}
		if number := p.number(target); !p.others[number] {
			p.add(number, "")
		}
	}
	return nil
}
