//lint:file-ignore SA1019 Overlays still use these fields.

package render

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	syaml "sigs.k8s.io/yaml"
)

// kustomize prints a warning to the process's standard error for each
// kustomization with a deprecated field. A library must not do so; where the
// newer field means exactly the same, kustomize is shown that one.
//
// patchesJson6902 and vars have no equal: their patches and substitutions
// happen later than those of patches and replacements. They keep working and
// keep their warning.

// withoutDeprecated returns a kustomization that means the same without
// deprecated fields, or nil if there is nothing to change. Labels are left
// alone where configurations give labels more places than commonLabels.
func withoutDeprecated(factory *resmap.Factory, k types.Kustomization, configured bool) *types.Kustomization {
	labels := k.CommonLabels != nil && !configured
	if k.Bases == nil && k.ImageTags == nil && k.PatchesStrategicMerge == nil && !labels {
		return nil
	}
	k.Resources = slices.Concat(k.Resources, k.Bases)
	k.Bases = nil
	k.Images = slices.Concat(k.Images, k.ImageTags)
	k.ImageTags = nil
	if labels {
		k.Labels = append(slices.Clip(k.Labels), types.Label{Pairs: k.CommonLabels, IncludeSelectors: true})
		k.CommonLabels = nil
	}
	var patches []types.Patch
	for _, p := range k.PatchesStrategicMerge {
		switch _, err := factory.RF().SliceFromBytes([]byte(p)); {
		case err != nil:
			patches = append(patches, types.Patch{Path: string(p)})
		case strings.TrimSpace(string(p)) != "":
			patches = append(patches, types.Patch{Patch: string(p)})
		}
	}
	k.Patches = slices.Concat(patches, k.Patches)
	k.PatchesStrategicMerge = nil
	return &k
}

// parsed is a kustomization as it stands in its file.
type parsed struct {
	path string // of the file, without links
	k    types.Kustomization
}

// quieten serves kustomizations without deprecated fields.
func (s *scanner) quieten() error {
	for _, p := range s.parsed {
		quiet := withoutDeprecated(s.factory, p.k, s.configured)
		if quiet == nil {
			continue
		}
		b, err := syaml.Marshal(quiet)
		if err != nil {
			return err
		}
		s.tree.served[p.path] = b
	}
	return nil
}
