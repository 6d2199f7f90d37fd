package apply

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

type kindSet = map[schema.GroupVersionKind]mapping

// errDeleting is why an apply is no success that the server accepted.
var errDeleting = errors.New("it is being deleted")

// answer is what the server made, or would make, of an object.
type answer struct {
	code          int
	before, after object // before is nil if it was not there, or not known
}

// send applies one object, or asks what an apply would do, under the condition
// that it is this target's or not there.
func (v *delivery) send(ctx context.Context, i int, ask bool) (answer, error) {
	o := v.r.Resolved[i]
	before, known := v.before[keyOf(o)]
	a := answer{before: before}
	b := newBackoff(v.client.retry)
	for round := 0; ; round++ {
		c := claimOf(a.before, known, v.r.Adopt)
		err := v.patch(ctx, i, ask, c, &a)
		if err == nil || !c.refused(err) {
			return a, err
		}
		accept := acceptMetaList
		if v.whole {
			accept = acceptJSON
		}
		held, there, lookErr := v.held(ctx, o, accept)
		if lookErr != nil {
			return a, lookErr
		}
		if !there {
			// It went, or the server was busy with others who write here.
			known, a.before = false, nil
		} else if owner, yes := foreign(held, v.r.Target, v.manager); yes && !v.r.Adopt {
			a.before = held
			if (&unstructured.Unstructured{Object: held}).GetDeletionTimestamp() != nil {
				return a, errDeleting
			}
			return a, wholeConflict(o, owner)
		} else {
			known, a.before = true, held
		}
		if (!known || round > 0) && !b.wait(ctx, 0) {
			if ctx.Err() != nil {
				return a, context.Cause(ctx)
			}
			return a, errors.Join(errContested, err)
		}
	}
}

// patch sends the one request of an apply.
func (v *delivery) patch(ctx context.Context, i int, ask bool, c claim, a *answer) error {
	o := v.r.Resolved[i]
	body, err := c.body(v.r.Objects[i].JSON)
	if err != nil {
		return err
	}
	query := url.Values{"fieldManager": {v.manager}, "fieldValidation": {"Strict"}}
	a.after = nil
	req := request{
		method: http.MethodPatch,
		path:   path.Join(collectionOf(o).path(), o.Name),
		query:  query,
		accept: acceptJSON,
		body:   body,
		into:   &a.after,
		again:  v.justDeclared(o),
		final:  c.refused,
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
	a.code, err = v.client.do(ctx, req)
	if err != nil {
		return err
	}
	if (&unstructured.Unstructured{Object: a.after}).GetDeletionTimestamp() != nil && o.Kind == "Namespace" && o.Group == "" {
		return errDeleting
	}
	return nil
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
// its kind or namespace, which this delivery or its preparation creates, is not
// there yet.
func (v *delivery) comes(o receipt.Object, err error) bool {
	s, ok := answered(err)
	if !ok || s.Code != http.StatusNotFound {
		return false
	}
	if noSuchNamespace(s) {
		return slices.ContainsFunc(v.r.Resolved, func(n receipt.Object) bool {
			return n.Group == "" && n.Kind == "Namespace" && n.Name == o.Namespace
		}) || slices.ContainsFunc(v.r.Prepared, func(n lifecycle.Object) bool {
			return n.Group == "" && n.Kind == "Namespace" && n.Name == o.Namespace
		})
	}
	_, declared := v.kinds[schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}]
	return declared
}

// change says what an answer means.
func change(a answer, ask bool) lifecycle.ChangeType {
	switch {
	case a.code == http.StatusCreated:
		return lifecycle.ChangeCreated
	case a.before == nil:
	case ask && sameButTimes(a.before, a.after), !ask && versionOf(a.before) == versionOf(a.after):
		return lifecycle.ChangeUnchanged
	}
	return lifecycle.ChangeConfigured
}

func sortConflicts(c []lifecycle.Conflict) {
	slices.SortFunc(c, func(a, b lifecycle.Conflict) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Owner, b.Owner))
	})
}
