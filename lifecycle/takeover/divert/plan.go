package divert

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The program of the agent in its image, and its commands: each is harmless where it
// is run.
const (
	Program = "/pharos-agent"
	// Run serves; it is also what the image runs by itself.
	Run = "run"
	// Probe succeeds while the agent runs; Hook does nothing.
	Probe = "probe"
	Hook  = "hook"
)

// byDigest is an image that is named by its digest.
var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// Plan plans how the agent takes the place of a container of a Deployment. live is the
// JSON of the Deployment as it was read from the API server, declared that of the one
// that Git declares, as it was rendered; agent is the agent's image, by digest. It
// makes no call: see Writer for what only the cluster can tell.
//
// All that is in the way comes back at once, as Refusals; the Diversion is to be used
// only where there are none. The error matches ErrInvalid: an argument cannot be read.
// The same arguments give the same result.
func Plan(live, declared []byte, container, agent string) (Diversion, []Refusal, []Warning, error) {
	p := &plan{agent: agent}
	var err error
	if p.live, err = parse("on the cluster", live); err != nil {
		return Diversion{}, nil, nil, err
	}
	if p.declared, err = parse("that Git declares", declared); err != nil {
		return Diversion{}, nil, nil, err
	}
	if !byDigest.MatchString(agent) {
		return Diversion{}, nil, nil, fmt.Errorf("%w: the agent's image %q is not named by digest", ErrInvalid, agent)
	}
	p.Subject = Subject{Namespace: p.live.Namespace, Name: p.live.Name, Container: container}
	if !p.live.isDeployment() || !p.declared.isDeployment() {
		p.refuse("Leave it out: only Deployments can be taken over.", "%s %s is no Deployment of apps/v1", p.live.Kind, p.live.Name)
		return Diversion{}, p.refusals, nil, nil
	}
	p.index, p.of = p.live.container(container)
	if p.of == nil {
		p.missing()
		return Diversion{}, p.refusals, nil, nil
	}
	d := Diversion{Subject: p.Subject, UID: string(p.live.UID), ResourceVersion: p.live.ResourceVersion, Generation: p.live.Generation,
		Agent: agent, Original: slices.Clone(live)}
	if d.Values, err = p.values(); err != nil {
		return Diversion{}, nil, nil, err
	}
	p.object()
	p.rollout()
	p.pods()
	p.image()
	p.owners(d.Values)
	p.warn()
	return d, p.refusals, p.warnings, nil
}

// plan is a plan in the making.
type plan struct {
	Subject
	agent          string
	live, declared deployment
	// index is that of the container on the cluster.
	index int
	of    *corev1.Container

	refusals []Refusal
	warnings []Warning
}

func (p *plan) refuse(next, format string, args ...any) {
	p.refusals = append(p.refusals, Refusal{Reason: fmt.Sprintf(format, args...), Next: next})
}

func (p *plan) warning(format string, args ...any) {
	p.warnings = append(p.warnings, Warning{Text: fmt.Sprintf(format, args...)})
}
