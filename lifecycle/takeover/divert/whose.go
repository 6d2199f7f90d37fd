package divert

import (
	"path"
	"strings"
)

// whose says whose a live value is.
type whose int

const (
	original whose = iota
	agents
	// others have changed it since, or removed it.
	others
)

// whose compares a live value with the two that are known of it. One that is both is
// the original: there is nothing to put back.
func (d Diversion) whose(live any, has bool, v Value) whose {
	switch {
	case has && (same(live, v.Original) || v.Field == "/image" && sameImage(live, valueOf(v.Original))):
		return original
	case has && d.isAgent(live, v):
		return agents
	}
	return others
}

// IsAgent says whether an image is the agent's. It is known by its digest: the same one
// may be named by a mirror.
func (d Diversion) IsAgent(image string) bool { return sameImage(image, d.Agent) }

// isAgent says whether a value is the agent's.
func (d Diversion) isAgent(live any, v Value) bool {
	if text, ok := live.(string); ok && v.Field == "/image" {
		return d.IsAgent(text)
	}
	return same(live, v.Agent)
}

// another says whether an image is an agent, and another one: agents of all sessions
// are in repositories of one name, whatever mirror they come from.
func another(image, agent string) bool {
	name := func(image string) string { repository, _, _ := strings.Cut(image, "@"); return path.Base(repository) }
	return digestOf(image) != digestOf(agent) && name(image) == name(agent)
}

// optional says whether the agent runs where somebody has removed a value: a container
// without a probe, a hook, or a command of its own runs what its image says. Arguments
// alone are not: they are those of the command.
func optional(field string) bool { return field != "/image" && field != "/args" }

// stands says how a diversion stands on a Deployment: whole is that the agent runs in
// the container, made that at least one value is the agent's, and overwritten are the
// values of somebody else's with which it cannot run.
func (d Diversion) stands(o deployment) (whole, made bool, overwritten []string) {
	i, c := o.container(d.Container)
	if string(o.UID) != d.UID || c == nil || len(d.Values) == 0 {
		return false, false, nil
	}
	whole = true
	for _, v := range d.Values {
		live, has := o.value(i, v.Field)
		switch d.whose(live, has, v) {
		case original:
			whole = whole && d.isAgent(live, v)
		case agents:
			made = true
		case others:
			if has || !optional(v.Field) {
				whole, overwritten = false, append(overwritten, v.Field)
			}
		}
	}
	return whole, made, overwritten
}
