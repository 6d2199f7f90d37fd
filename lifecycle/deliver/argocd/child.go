package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
)

// child points an Application that an overlay declares at the commit, in o, and
// renders its overlays; one that is not of the repository it leaves at its
// revision. It returns the patch by which kustomize does the same, nil if nothing
// is to be changed.
func (w *walk) child(ctx context.Context, parent string, o *lifecycle.Object, above []string) (any, error) {
	var content map[string]any
	if err := json.Unmarshal(o.JSON, &content); err != nil {
		return nil, w.refuse(objectName(*o), "it is no JSON object", "")
	}
	name := argo.Name(orDefault(o.Namespace, w.layout.Namespace), o.Name)
	spec, _ := content["spec"].(map[string]any)
	destination, _ := spec["destination"].(map[string]any)
	namespace, _ := destination["namespace"].(string)
	if _, ok := spec["sourceHydrator"]; ok {
		return nil, w.refuse(name, "it has a sourceHydrator, which writes commits of its own", "Use spec.source with the overlay's folder.")
	}

	type located struct {
		src  map[string]any
		at   []string // of fields, for the patch
		path string
	}
	var ours []located
	add := func(v any, at ...string) {
		if src, ok := v.(map[string]any); ok && argo.SameRepository(argo.Source(src).Text("repoURL"), w.layout.Repository) {
			ours = append(ours, located{src, at, argo.Source(src).Text("path")})
		}
	}
	if list, ok := spec["sources"].([]any); ok && len(list) > 0 {
		for i, v := range list {
			add(v, "spec", "sources", fmt.Sprint(i))
		}
	} else {
		add(spec["source"], "spec", "source")
	}

	var ops []argo.Op
	set := func(at []string, field string, value any) {
		ops = append(ops, argo.Op{Op: "add", Path: argo.PointerTo(append(slices.Clone(at), field)...), Value: value})
	}
	for _, s := range ours {
		s.src["targetRevision"] = string(w.request.Commit)
		set(s.at, "targetRevision", s.src["targetRevision"])
		if s.path == "" {
			continue // a source that others refer to for values
		}
		if err := w.plain(name, s.src); err != nil {
			return nil, err
		}
		made, err := w.overlay(ctx, name, path.Clean(s.path), namespace, above)
		if err != nil {
			return nil, err
		}
		k := maps.Clone(argo.Source(s.src).Kustomize())
		if k == nil {
			k = map[string]any{}
		}
		maps.Copy(k, made.Kustomize())
		s.src["kustomize"] = k
		set(s.at, "kustomize", k)
	}
	if ops = append(ops, argo.Normalize(spec)...); len(ops) == 0 {
		return nil, nil
	}
	raw, err := objectjson.Encode(content)
	if err != nil {
		return nil, err
	}
	o.JSON = raw
	if err := w.prefixed(ctx, parent, above[len(above)-1]); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(ops)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"target": map[string]any{"group": argo.Group, "version": argo.Version, "kind": argo.KindApplication, "name": regexp.QuoteMeta(o.Name)},
		"patch":  string(text),
	}, nil
}

// options are those of a kustomize source that are replaced, or that do not
// change what an overlay renders to.
var options = []string{"images", "version", "labelWithoutSelector", "forceCommonLabels"}

// plain refuses a source that Argo CD would render to something else than its
// overlay: the receipt would not tell the truth.
func (w *walk) plain(app string, src map[string]any) error {
	for _, kind := range []string{"helm", "directory", "plugin", "chart"} {
		if _, ok := src[kind]; ok {
			return w.refuse(app, "its source has "+kind, "Deliver a folder with a kustomization.yaml: its images are set by digest through it.")
		}
	}
	for _, field := range slices.Sorted(maps.Keys(argo.Source(src).Kustomize())) {
		if !slices.Contains(options, field) {
			return w.refuse(app, "its source sets kustomize."+field, "Put it into the kustomization.yaml of the folder "+argo.Source(src).Text("path")+".")
		}
	}
	for _, image := range argo.Source(src).Images() {
		name, _, _ := strings.Cut(image, "=")
		if !slices.ContainsFunc(w.request.Images, func(r lifecycle.ImageRef) bool { return r.Name == name }) {
			return w.refuse(app, fmt.Sprintf("its source sets the image %q, which is not of the catalogue", image),
				"Put it into the kustomization.yaml of the folder "+argo.Source(src).Text("path")+".")
		}
	}
	return nil
}

// prefixed refuses an overlay that renames the Applications it declares: Argo CD
// adds patches to that very kustomization, whose patches come before its prefix.
func (w *walk) prefixed(ctx context.Context, app, folder string) error {
	for _, file := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		data, err := w.request.Tree.ReadFile(ctx, path.Join(folder, file))
		if err != nil {
			continue // the overlay was rendered: one of the others is there
		}
		var k struct {
			NamePrefix string `json:"namePrefix"`
			NameSuffix string `json:"nameSuffix"`
		}
		if err := yaml.Unmarshal(data, &k); err == nil && k.NamePrefix+k.NameSuffix != "" {
			return w.refuse(app, fmt.Sprintf("%s sets namePrefix or nameSuffix, and declares Applications", path.Join(folder, file)),
				"Give the Applications their full names.")
		}
	}
	return nil
}

// uses says whether an image stands in one of the objects.
func uses(objects []lifecycle.Object, ref string) bool {
	quoted := []byte(`"` + ref + `"`)
	return slices.ContainsFunc(objects, func(o lifecycle.Object) bool { return bytes.Contains(o.JSON, quoted) })
}
