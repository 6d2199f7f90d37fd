package apply

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

type kindSet = map[schema.GroupVersionKind]mapping

// memory is what the target held before a delivery: of each object its
// resource version, or for a dry run all of it.
type memory map[key]object

// remember lists what the target holds. The server answers an apply in the same
// way whether it changed something or not; only the version tells.
func (d *Deliverer) remember(ctx context.Context, r lifecycle.DeliverRequest) (memory, error) {
	accept := acceptMetaList
	if r.DryRun {
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

// errDeleting is why an apply is no success that the server accepted.
var errDeleting = errors.New("it is being deleted")

// send applies one object, or asks what an apply would do.
func (v *delivery) send(ctx context.Context, i int, ask bool) (lifecycle.ChangeType, error) {
	o := v.r.Resolved[i]
	var after object
	query := url.Values{"fieldManager": {v.manager}, "fieldValidation": {"Strict"}}
	req := request{
		method: http.MethodPatch,
		path:   path.Join(collectionOf(o).path(), o.Name),
		query:  query,
		accept: acceptJSON,
		body:   v.r.Objects[i].JSON,
		into:   &after,
		again:  v.justDeclared(o),
	}
	if v.r.Force {
		query.Set("force", "true")
	}
	if ask {
		query.Set("dryRun", "All")
		req.again = nil
	} else {
		req.before = v.r.Guard
	}
	code, err := v.client.do(ctx, req)
	if err != nil {
		if ask && v.comes(o, err) {
			return lifecycle.ChangeCreated, nil
		}
		return "", err
	}
	if (&unstructured.Unstructured{Object: after}).GetDeletionTimestamp() != nil && o.Kind == "Namespace" && o.Group == "" {
		return "", errDeleting
	}
	if !ask {
		if v.seen[i], err = seenOf(o, after, v.manager); err != nil {
			return "", err
		}
	}
	return v.compare(o, code, after, ask), nil
}

func (v *delivery) compare(o receipt.Object, code int, after object, ask bool) lifecycle.ChangeType {
	before, known := v.before[keyOf(o)]
	switch {
	case code == http.StatusCreated:
		return lifecycle.ChangeCreated
	case known && ask && reflect.DeepEqual(timeless(before), timeless(after)):
		return lifecycle.ChangeUnchanged
	case known && !ask && versionOf(before) == versionOf(after):
		return lifecycle.ChangeUnchanged
	}
	return lifecycle.ChangeConfigured
}

func versionOf(o object) string {
	return (&unstructured.Unstructured{Object: o}).GetResourceVersion()
}

// timeless returns the object without what changes at every write, since a dry
// run has no resource version of its own, and without what controllers write
// while we look.
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

// justDeclared says of which answers an object of a kind that this delivery
// declares is worth another try: the definition is established, yet another
// API server may not have seen it.
func (v *delivery) justDeclared(o receipt.Object) func(error) bool {
	gvk := schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}
	if _, ok := v.kinds[gvk]; !ok {
		return nil
	}
	return func(err error) bool {
		s, ok := answered(err)
		return ok && s.Code == http.StatusNotFound && !noSuchNamespace(s)
	}
}

// comes says that the server can only not be asked about the object because
// its kind or namespace, which this delivery creates, is not there yet.
func (v *delivery) comes(o receipt.Object, err error) bool {
	s, ok := answered(err)
	if !ok || s.Code != http.StatusNotFound {
		return false
	}
	if noSuchNamespace(s) {
		return slices.ContainsFunc(v.r.Resolved, func(n receipt.Object) bool {
			return n.Group == "" && n.Kind == "Namespace" && n.Name == o.Namespace
		})
	}
	_, declared := v.kinds[schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}]
	return declared
}

func sortConflicts(c []lifecycle.Conflict) {
	slices.SortFunc(c, func(a, b lifecycle.Conflict) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Owner, b.Owner))
	})
}
