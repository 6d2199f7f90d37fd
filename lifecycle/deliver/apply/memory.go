package apply

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// memory is what the target held before a delivery: of each object its
// metadata, or all of it.
type memory map[key]object

// remember lists what the target holds. The server answers an apply in the same
// way whether it changed something or not; only the version tells.
func (d *Deliverer) remember(ctx context.Context, r lifecycle.DeliverRequest, whole bool) (memory, error) {
	accept := acceptMetaList
	if whole {
		accept = acceptJSON
	}
	lists, err := d.listAll(ctx, r.Resolved, r.Target, accept)
	if err != nil {
		return nil, err
	}
	m := memory{}
	for _, l := range lists {
		for _, item := range l.items {
			m[keyIn(l.of, item)] = item
		}
	}
	return m, nil
}

func keyIn(c collection, item object) key {
	u := unstructured.Unstructured{Object: item}
	return key{c.group, c.kind, u.GetNamespace(), u.GetName()}
}

// proof is what is known of the delivery before: each object as it was applied,
// and as the target held it when it was live.
type proof struct {
	applied map[key]receipt.Object
	seen    map[key]receipt.Seen
}

func proofOf(r lifecycle.DeliverRequest) proof {
	p := proof{map[key]receipt.Object{}, map[key]receipt.Seen{}}
	if len(r.Seen) == 0 {
		return p
	}
	for _, o := range r.Applied {
		p.applied[keyOf(o)] = o
	}
	for _, s := range r.Seen {
		p.seen[key{s.Group, s.Kind, s.Namespace, s.Name}] = s
	}
	return p
}

// unchanged says whether an apply of the object would change nothing: the same
// bytes were applied before, and every field that came of it is owned by us and
// has the value still that it got then. To apply them once more could only come
// to the same. It returns what was seen of the object.
func (v *delivery) unchanged(i int) (receipt.Seen, bool) {
	o := v.r.Resolved[i]
	held, there := v.before[keyOf(o)]
	was, known := v.proof.seen[keyOf(o)]
	// A hash covers the version that was applied.
	if !there || !known || v.proof.applied[keyOf(o)].Hash != o.Hash {
		return receipt.Seen{}, false
	}
	if (&unstructured.Unstructured{Object: held}).GetDeletionTimestamp() != nil {
		return receipt.Seen{}, false
	}
	seen, err := seenOf(o, held, v.manager)
	return seen, err == nil && seen == was
}

func versionOf(o object) string {
	return (&unstructured.Unstructured{Object: o}).GetResourceVersion()
}

// sameButTimes compares objects without what changes at every write, since a dry
// run has no resource version of its own, and without what controllers write
// while we look.
func sameButTimes(a, b object) bool { return reflect.DeepEqual(timeless(a), timeless(b)) }

func timeless(o object) object {
	o = (&unstructured.Unstructured{Object: o}).DeepCopy().Object
	meta, _, _ := unstructured.NestedMap(o, "metadata")
	delete(meta, "resourceVersion")
	managed, _ := meta["managedFields"].([]any)
	meta["managedFields"] = slices.DeleteFunc(managed, func(m any) bool {
		e, ok := m.(object)
		if ok {
			delete(e, "time")
		}
		return ok && e["subresource"] == "status"
	})
	o["metadata"] = meta
	delete(o, "status")
	return o
}
