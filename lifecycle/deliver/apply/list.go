package apply

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

// pageSize is how many objects one answer holds at most: kubectl's own.
const pageSize = 500

// object is an object as the server holds it.
type object = map[string]any

// listing is what a list returned, and from where a watch goes on.
type listing struct {
	of      collection
	items   []object
	version string
}

// page is one answer to a list.
type page struct {
	Metadata struct {
		Continue        string `json:"continue"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

// list reads all objects of a collection that the selector matches. A
// collection that the server does not serve has none: its kind may be about to
// be delivered.
func (d *Deliverer) list(ctx context.Context, of collection, selector, accept string) (listing, error) {
	l := listing{of: of}
	query := url.Values{"labelSelector": {selector}, "limit": {strconv.Itoa(pageSize)}}
	for {
		var page page
		_, err := d.client.do(ctx, request{method: http.MethodGet, path: of.path(), query: query, accept: accept, into: &page})
		if s, ok := answered(err); ok {
			switch {
			case s.Code == http.StatusNotFound:
				return l, nil
			case s.Code == http.StatusGone && query.Has("continue"):
				// The pages took longer than the server keeps history.
				query.Del("continue")
				query.Del("limit")
				l.items = nil
				continue
			}
		}
		if err != nil {
			return l, err
		}
		for _, item := range page.Items {
			named(item, of)
		}
		l.items = append(l.items, page.Items...)
		l.version = page.Metadata.ResourceVersion
		if page.Metadata.Continue == "" {
			return l, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// named gives an item of a list the kind that the server leaves out there.
func named(item object, of collection) {
	apiVersion := of.version
	if of.group != "" {
		apiVersion = of.group + "/" + of.version
	}
	item["apiVersion"], item["kind"] = apiVersion, of.kind
}

// targetSelector matches what was delivered to the target.
func targetSelector(target string) string {
	return labels.Set{keys.Target: target}.String()
}

// collections are the resources of the objects, each with the namespaces that
// the objects are in.
func collections(objects []receipt.Object) ([]collection, map[collection][]string) {
	var order []collection
	namespaces := map[collection][]string{}
	for _, o := range objects {
		c := collectionOf(o).in("")
		ns, known := namespaces[c]
		if !known {
			order = append(order, c)
		}
		if !slices.Contains(ns, o.Namespace) {
			namespaces[c] = append(ns, o.Namespace)
		}
	}
	return order, namespaces
}

// listAll lists what carries the target's label in every resource of the
// objects: one list for each resource, in the one namespace that its objects
// are in, or else in all. Where listing in all is forbidden, it is one list for
// each namespace, from then on.
func (d *Deliverer) listAll(ctx context.Context, objects []receipt.Object, target, accept string) ([]listing, error) {
	order, namespaces := collections(objects)
	results := make([][]listing, len(order))
	errs := make([]error, len(order))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.each(ctx, len(order), func(i int) {
		results[i], errs[i] = d.listOne(ctx, order[i], namespaces[order[i]], target, accept)
		if errs[i] != nil {
			errs[i] = d.client.explain(ctx, "list", order[i].name(), errs[i])
			cancel(errs[i])
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slices.Concat(results...), nil
}

func (d *Deliverer) listOne(ctx context.Context, c collection, namespaces []string, target, accept string) ([]listing, error) {
	selector := targetSelector(target)
	if len(namespaces) == 1 {
		l, err := d.list(ctx, c.in(namespaces[0]), selector, accept)
		return []listing{l}, err
	}
	if _, narrow := d.narrow.Load(c); !narrow {
		l, err := d.list(ctx, c, selector, accept)
		if s, ok := answered(err); !ok || s.Code != http.StatusForbidden {
			return []listing{l}, err
		}
		d.narrow.Store(c, true)
	}
	var all []listing
	for _, ns := range namespaces {
		l, err := d.list(ctx, c.in(ns), selector, accept)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
