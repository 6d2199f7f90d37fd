package divert

import (
	"encoding/json"
	"fmt"
)

// Patch is the JSON patch (RFC 6902) that diverts. It does so only if the Deployment is
// still the one that was planned with, of the same generation: every change of its
// spec, and of its annotations, makes another one.
func (d Diversion) Patch() ([]byte, error) {
	o, err := parse("as it was planned", d.Original)
	if err != nil {
		return nil, err
	}
	return d.patch(o, d.Generation)
}

// patch diverts a Deployment of that generation. What is the agent's already stays, and
// so does what is not there any more.
func (d Diversion) patch(o deployment, generation int64) ([]byte, error) {
	i, c := o.container(d.Container)
	if c == nil {
		return nil, fmt.Errorf("%w: %s has no container %q", ErrInvalid, d.Subject, d.Container)
	}
	ops := []operation{test("/metadata/uid", d.UID), test("/metadata/generation", generation), test(at(i, "/name"), d.Container)}
	for _, v := range d.Values {
		if live, has := o.value(i, v.Field); d.whose(live, has, v) == original {
			ops = append(ops, test(at(i, v.Field), live), replace(at(i, v.Field), v.Agent))
		}
	}
	return json.Marshal(ops)
}
