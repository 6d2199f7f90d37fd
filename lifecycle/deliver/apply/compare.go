package apply

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/pharos-dev/pharos/lifecycle"
)

var _ lifecycle.Comparer = (*Deliverer)(nil)

// Compare asks the server, by a dry run of the apply of each object, what it
// would make of it. It writes nothing and needs the rights of a delivery: a dry
// run is authorised like the write.
//
// There is no Comparison of an object that the server refuses; the error, which
// is as of Deliver, names it. An object of somebody else, or with fields of
// somebody else, is compared as if it were taken over.
func (d *Deliverer) Compare(ctx context.Context, r lifecycle.DeliverRequest) ([]lifecycle.Comparison, error) {
	r.DryRun, r.Guard, r.Progress = true, nil, nil
	v, err := d.delivery(ctx, r)
	if err != nil || v == nil {
		return nil, err
	}
	answers := make([]answer, len(v.r.Objects))
	v.compared = func(i int, a answer) { answers[i] = a }
	v.all(ctx)
	_, err = v.result(ctx)
	var list []lifecycle.Comparison
	for i, c := range v.changes {
		if c == "" {
			continue
		}
		if answers[i].after == nil && c != lifecycle.ChangeCreated {
			continue // a Job that has run and is gone, or one that the server refuses
		}
		o := lifecycle.Comparison{Change: lifecycle.Change{Type: c, Object: v.r.Resolved[i]}, Merged: v.r.Objects[i].JSON}
		encode(answers[i].before, &o.Live, &err)
		encode(merged(answers[i]), &o.Merged, &err)
		list = append(list, o)
	}
	return list, err
}

// forced is the answer for an object that belongs to somebody else, if it were
// taken over.
func (v *delivery) forced(ctx context.Context, i int, a answer, err error) answer {
	if err == nil {
		return a
	}
	var c *lifecycle.ConflictError
	if err, stop := v.explainApply(ctx, v.r.Resolved[i], err); stop || !errors.As(err, &c) {
		return answer{}
	}
	bold := &delivery{Deliverer: v.Deliverer, r: v.r, before: v.before, whole: true, kinds: v.kinds}
	bold.r.Force, bold.r.Adopt = true, true
	over, err := bold.send(ctx, i, true)
	if err != nil {
		return answer{}
	}
	if over.before == nil {
		over.before = a.before
	}
	return over
}

// merged leaves out what a dry run of a creation invents.
func merged(a answer) object {
	if a.after == nil || a.before != nil {
		return a.after
	}
	o := maps.Clone(a.after)
	meta, _ := o["metadata"].(object)
	meta = maps.Clone(meta)
	for _, invented := range []string{"uid", "resourceVersion", "creationTimestamp"} {
		delete(meta, invented)
	}
	o["metadata"] = meta
	return o
}

func encode(o object, into *[]byte, err *error) {
	if o == nil {
		return
	}
	b, encErr := json.Marshal(o)
	if encErr != nil {
		*err = errors.Join(*err, encErr)
		return
	}
	*into = b
}
