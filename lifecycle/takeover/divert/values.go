package divert

import (
	"encoding/json"
	"reflect"
)

// replaced are the fields of a container that say what runs, with what the agent runs
// in their place.
var replaced = []struct {
	field string
	agent []string
}{
	{"/command", []string{Program}},
	{"/args", []string{Run}},
	{"/livenessProbe/exec/command", []string{Program, Probe}},
	{"/readinessProbe/exec/command", []string{Program, Probe}},
	{"/startupProbe/exec/command", []string{Program, Probe}},
	{"/lifecycle/postStart/exec/command", []string{Program, Hook}},
	{"/lifecycle/preStop/exec/command", []string{Program, Hook}},
}

// values are those that Git declares, and refuses where the cluster has others: what
// Git does not declare, no self-heal puts back.
func (p *plan) values() ([]Value, error) {
	list, err := p.value(nil, "/image", p.agent)
	for _, r := range replaced {
		if err != nil {
			return nil, err
		}
		agent := r.agent
		if _, args := p.live.value(p.index, "/args"); r.field == "/command" && !args {
			agent = []string{Program, Run} // of an image's own arguments a command makes nothing
		}
		list, err = p.value(list, r.field, agent)
	}
	return list, err
}

func (p *plan) value(list []Value, field string, agent any) ([]Value, error) {
	in, _ := p.declared.container(p.Container)
	declared, is := p.declared.value(in, field)
	live, has := p.live.value(p.index, field)
	switch {
	case is && has && (reflect.DeepEqual(declared, live) || sameImage(declared, live)):
	case is || has:
		p.refuse("Deliver first: kubectl pharos reconcile", "%s of container %q is not what Git declares", field, p.Container)
		return list, nil
	default:
		return list, nil
	}
	v := Value{Field: field}
	var err error
	if v.Original, err = json.Marshal(live); err == nil {
		v.Agent, err = json.Marshal(agent)
	}
	return append(list, v), err
}

// sameImage says whether both name an image by the same digest: admission may have it
// pulled from elsewhere. Of other values it is not true.
func sameImage(a, b any) bool {
	one, _ := a.(string)
	other, _ := b.(string)
	return digestOf(one) != "" && digestOf(one) == digestOf(other)
}
