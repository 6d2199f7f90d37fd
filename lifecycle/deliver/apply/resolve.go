package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// crdKind is the kind that declares kinds.
var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Resolve returns the objects as the cluster names them, in the same order:
// their resources, their namespaces (Config.DefaultNamespace where a
// namespaced object has none), and the SHA-256 of their bytes. A Job that runs
// once gets its name by content.
//
// Kinds are looked up first among the CustomResourceDefinitions in objects,
// then in the cluster's discovery documents, which are read at most once for
// as long as they know every kind: at most two requests.
//
// All that is wrong is reported together, in an error that matches
// lifecycle.ErrSource: unknown kinds, objects without a name, cluster-scoped
// objects with a namespace, objects that are there twice. An error that
// matches lifecycle.ErrUnreachable says that the cluster did not answer.
func (d *Deliverer) Resolve(ctx context.Context, objects []lifecycle.Object) ([]receipt.Object, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	objects, problems := applicable(objects)
	known, undeclared := declared(objects)
	problems = append(problems, undeclared...)
	var ask []schema.GroupVersionKind
	for _, o := range objects {
		gvk := schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}
		if _, ok := known[gvk]; !ok && !slices.Contains(ask, gvk) {
			ask = append(ask, gvk)
		}
	}
	var stale map[schema.GroupVersion]bool
	if len(ask) > 0 {
		found, unsure, err := d.lookup(ctx, ask)
		if err != nil {
			return nil, err
		}
		for k, m := range found {
			known[k] = m
		}
		stale = unsure
	}

	resolved := make([]receipt.Object, 0, len(objects))
	unknown := map[schema.GroupVersionKind][]string{}
	seen := map[key]bool{}
	for _, o := range objects {
		gvk := schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}
		r := receipt.Object{
			Group: o.Group, Version: o.Version, Kind: o.Kind,
			Namespace: o.Namespace, Name: o.Name, Hash: hashOf(o.JSON),
		}
		m, ok := known[gvk]
		if !ok {
			unknown[gvk] = append(unknown[gvk], lifecycle.ObjectName(r))
			continue
		}
		r.Resource = m.resource
		if m.namespaced && r.Namespace == "" {
			r.Namespace = d.namespace
		}
		if p := misplaced(r, m.namespaced); p != nil {
			problems = append(problems, p)
		}
		if seen[keyOf(r)] {
			problems = append(problems, fmt.Errorf("%s: is there twice", lifecycle.ObjectName(r)))
		}
		seen[keyOf(r)] = true
		resolved = append(resolved, r)
	}
	problems = append(problems, unknownKinds(unknown, stale)...)
	if len(problems) == 0 {
		return resolved, nil
	}
	e := &lifecycle.Error{Op: "resolve", On: "the objects", Class: lifecycle.ErrSource, Err: errors.Join(problems...)}
	if len(unknown) > 0 {
		e.Advice = "Check apiVersion and kind, or add the CustomResourceDefinition to the manifests."
	}
	return nil, e
}

func misplaced(r receipt.Object, namespaced bool) error {
	if r.Name == "" {
		return fmt.Errorf("%s: has no metadata.name; what is applied needs a name of its own", r.Kind)
	}
	for _, s := range []string{r.Name, r.Namespace} {
		if bad := content.IsPathSegmentName(s); len(bad) > 0 {
			return fmt.Errorf("%s: %q is no name: %s", lifecycle.ObjectName(r), s, strings.Join(bad, ", "))
		}
	}
	if !namespaced && r.Namespace != "" {
		return fmt.Errorf("%s: has the namespace %q, but its kind is cluster-scoped", lifecycle.ObjectName(r), r.Namespace)
	}
	return nil
}

func unknownKinds(unknown map[schema.GroupVersionKind][]string, stale map[schema.GroupVersion]bool) []error {
	var problems []error
	for gvk, names := range unknown {
		why := "the cluster does not serve this kind, and no CustomResourceDefinition among the objects declares it"
		if stale[gvk.GroupVersion()] {
			why = "the server behind this API group does not answer"
		}
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		problems = append(problems, fmt.Errorf("%s of %s (%s): %s", kind, apiVersion, strings.Join(names, ", "), why))
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems
}

// declared returns the kinds that the CustomResourceDefinitions among the
// objects declare.
func declared(objects []lifecycle.Object) (map[schema.GroupVersionKind]mapping, []error) {
	kinds := map[schema.GroupVersionKind]mapping{}
	var problems []error
	for _, o := range objects {
		if o.Group != crdKind.Group || o.Kind != crdKind.Kind {
			continue
		}
		var crd struct {
			Spec struct {
				Group string `json:"group"`
				Scope string `json:"scope"`
				Names struct {
					Plural string `json:"plural"`
					Kind   string `json:"kind"`
				} `json:"names"`
				Versions []struct {
					Name   string `json:"name"`
					Served bool   `json:"served"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &crd); err != nil {
			problems = append(problems, fmt.Errorf("CustomResourceDefinition %s: %w", o.Name, err))
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Served {
				gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
				kinds[gvk] = mapping{crd.Spec.Names.Plural, crd.Spec.Scope == "Namespaced"}
			}
		}
	}
	return kinds, problems
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
