package render

import (
	"context"
	"fmt"
	"regexp"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	syaml "sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

// turn is this package's only global. kustomize keeps the OpenAPI schema that
// it merges patches by in global variables: whatever kustomization sets one
// decides for the whole process, and reading them while they are set is a data
// race (kustomize issues 4824 and 5805). One render at a time has its turn.
// Reading and scanning the tree happen outside of it.
var turn = make(chan struct{}, 1)

func takeTurn(ctx context.Context) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func endTurn() { <-turn }

// build runs kustomize. A schema says that a kustomization below sets openapi.
func build(ctx context.Context, fsys *fileSystem, schema bool) (_ resmap.ResMap, err error) {
	if err := takeTurn(ctx); err != nil {
		return nil, err
	}
	defer endTurn()
	if schema {
		// What one overlay sets must not be what the next one starts with.
		openapi.ResetOpenAPI()
		defer openapi.ResetOpenAPI()
	}
	defer func() {
		if r := recover(); r != nil {
			openapi.ResetOpenAPI() // it may be half initialized
			err = panicked(r)
		}
	}()
	return krusty.MakeKustomizer(&krusty.Options{
		Reorder: krusty.ReorderOptionNone, // convert sorts
		// The file system has nothing but the tree in it, so that a base
		// beside the overlay can be reached and nothing else can.
		LoadRestrictions: types.LoadRestrictionsNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(fsys, topRoot)
}

// panicked is the error for a panic in kustomize, which has them on input that
// it does not expect.
func panicked(r any) error { return fmt.Errorf("kustomize cannot handle this input: %v", r) }

var digest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// topKustomization is the kustomization of ours on top of the overlay. It sets
// images and labels last, after everything that the overlay does.
func topKustomization(overlay string, r lifecycle.RenderRequest) ([]byte, error) {
	k := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{".." + treeRoot + "/" + overlay},
	}
	for _, image := range r.Images {
		k.Images = append(k.Images, types.Image{
			Name:    regexp.QuoteMeta(image.Name), // kustomize takes it for a pattern
			NewName: image.Repository,
			Digest:  string(image.Digest),
		})
	}
	if len(r.Labels) > 0 {
		k.Labels = []types.Label{{Pairs: r.Labels}}
	}
	return syaml.Marshal(k)
}
