package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// convert turns kustomize's resources into objects in the order to apply, and
// the images that each of them uses. Secrets are those with values that can be
// read.
func convert(m resmap.ResMap) (objects []lifecycle.Object, images [][]usedImage, secrets []*plainSecret, err error) {
	type converted struct {
		object lifecycle.Object
		images []usedImage
		secret *plainSecret
	}
	var all []converted
	var errs []error
	for _, r := range m.Resources() {
		content, err := r.Map()
		if err != nil {
			// The message of kustomize would quote the object, which may
			// hold secrets.
			errs = append(errs, fmt.Errorf("%s %s: is not an object that JSON can hold", r.GetKind(), r.GetName()))
			continue
		}
		o, err := toObject(content)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, converted{o, imagesOf(o, content), plainSecretOf(o, content)})
	}
	slices.SortStableFunc(all, func(a, b converted) int { return compare(a.object, b.object) })

	objects = make([]lifecycle.Object, len(all))
	images = make([][]usedImage, len(all))
	for i, c := range all {
		objects[i], images[i] = c.object, c.images
		if c.secret != nil {
			secrets = append(secrets, c.secret)
		}
	}
	errs = append(errs, duplicates(objects)...)
	return objects, images, secrets, errors.Join(errs...)
}

func toObject(content map[string]any) (lifecycle.Object, error) {
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	metadata, _ := content["metadata"].(map[string]any)
	group, version := resid.ParseGroupVersion(text(content, "apiVersion"))
	o := lifecycle.Object{
		Group: group, Version: version, Kind: text(content, "kind"),
		Namespace: text(metadata, "namespace"), Name: text(metadata, "name"),
	}
	name := fullName(o)
	switch {
	case version == "" || o.Kind == "":
		return o, fmt.Errorf("%s: has no apiVersion or no kind", name)
	case o.Name == "":
		return o, fmt.Errorf("%s: %w", name, ErrUnnamed)
	}
	var err error
	if o.JSON, err = objectjson.Encode(content); err != nil {
		return o, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// fullName names an object with its version, "apps/v1 Deployment shop/api".
func fullName(o lifecycle.Object) string {
	api := o.Version
	if o.Group != "" {
		api = o.Group + "/" + o.Version
	}
	return api + " " + objectName(o)
}

func objectName(o lifecycle.Object) string {
	return lifecycle.ObjectName(receipt.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
}

// compare is the order to apply in: namespaces, then definitions of resources,
// then kustomize's own order, in which what others refer to comes first and
// webhooks come last; then namespaces' and objects' names.
func compare(a, b lifecycle.Object) int {
	ga, gb := gvk(a), gvk(b)
	switch ra, rb := rank(a), rank(b); {
	case ra != rb:
		return ra - rb
	case ga.IsLessThan(gb):
		return -1
	case gb.IsLessThan(ga):
		return 1
	case a.Namespace != b.Namespace:
		return strings.Compare(a.Namespace, b.Namespace)
	default:
		return strings.Compare(a.Name, b.Name)
	}
}

func gvk(o lifecycle.Object) resid.Gvk {
	return resid.Gvk{Group: o.Group, Version: o.Version, Kind: o.Kind}
}

func rank(o lifecycle.Object) int {
	switch {
	case o.Group == "" && o.Kind == "Namespace":
		return 0
	case o.Group == "apiextensions.k8s.io" && o.Kind == "CustomResourceDefinition":
		return 1
	default:
		return 2
	}
}

// duplicates finds objects that are one to the API server. kustomize itself
// refuses those of the same version.
func duplicates(objects []lifecycle.Object) []error {
	var errs []error
	type key struct{ group, kind, namespace, name string }
	first := map[key]lifecycle.Object{}
	for _, o := range objects {
		k := key{o.Group, o.Kind, o.Namespace, o.Name}
		if other, ok := first[k]; ok {
			errs = append(errs, fmt.Errorf("%s and %s are the same object: %w", fullName(other), fullName(o), ErrDuplicate))
			continue
		}
		first[k] = o
	}
	return errs
}
