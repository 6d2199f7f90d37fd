package divert

import (
	"strings"

	"github.com/pharos-dev/pharos/internal/objectjson"
)

// Undiverted is a Deployment that was read from the API server as it would be once it is
// put back: with the original values, and with the fields of whoever owned them. So it
// can be told what of it somebody else has changed. It is as it was read where nothing
// would be put back, and where somebody else has changed a value of the diversion. The
// error matches ErrInvalid: an object cannot be read.
func Undiverted(live []byte, d Diversion) ([]byte, error) {
	o, err := parse("on the cluster", live)
	if err != nil {
		return nil, err
	}
	r, err := restore(o, d)
	if err != nil || r.Outcome != OutcomeRestored || len(r.Kept) > 0 {
		return live, err
	}
	i, _ := o.container(d.Container)
	for _, v := range d.Values {
		o.set(i, v)
	}
	all, err := disowned(o, d)
	if err != nil {
		return nil, err
	}
	var left []any
	for _, e := range all {
		if !e.ours() || len(e.fields()) > 0 {
			left = append(left, map[string]any(e))
		}
	}
	if metadata, ok := o.raw["metadata"].(map[string]any); ok {
		metadata["managedFields"] = left
	}
	return objectjson.Encode(o.raw)
}

// set has a value of a container that is there be the original.
func (d deployment) set(container int, v Value) {
	list, _ := child(d.raw, "spec", "template", "spec", "containers").([]any)
	names := strings.Split(strings.TrimPrefix(v.Field, "/"), "/")
	last := len(names) - 1
	if in, ok := child(list[container], names[:last]...).(map[string]any); ok {
		in[names[last]] = valueOf(v.Original)
	}
}
