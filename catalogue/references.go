package catalogue

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Reference is a reference that a pharos.lock has to hold.
type Reference struct {
	Reference string   // as written in the recipes
	Images    []string // the names of the images that use it, sorted
}

// References returns every reference that a recipe of the catalogue names at a
// tree and that is neither by digest nor the name of an image of the catalogue,
// sorted: bases, and the frontends of Dockerfiles. It does not ask what the
// tree's own pharos.lock holds.
//
// If it cannot be said what some images are built on, References returns those
// of the others, with an error as that of States. When ctx ends there are none,
// and the error matches ctx's.
func (c *Catalogue) References(ctx context.Context, tree source.Tree) ([]Reference, error) {
	users := map[string][]string{}
	errs := make([]error, len(c.Images))
	names := c.names()
	var files dockerfiles
	for i := range c.Images {
		image := &c.Images[i]
		built, err := image.basis(ctx, tree, &files)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs[i] = &ImageError{Image: image.Name, Err: err}
			continue
		}
		for _, ref := range built.references() {
			if _, own := names[ref]; !own && byDigest(ref) == "" {
				users[ref] = append(users[ref], image.Name)
			}
		}
	}
	var all []Reference
	for _, ref := range slices.Sorted(maps.Keys(users)) {
		slices.Sort(users[ref])
		all = append(all, Reference{Reference: ref, Images: users[ref]})
	}
	return all, errors.Join(errs...)
}

// names returns the places of the images by their names.
func (c *Catalogue) names() map[string]int {
	names := make(map[string]int, len(c.Images))
	for i, image := range c.Images {
		names[image.Name] = i
	}
	return names
}

// basis returns what the image is built on, read from the whole tree.
func (i *Image) basis(ctx context.Context, tree source.Tree, files *dockerfiles) (basis, error) {
	switch b := i.Build; {
	case b.Go != nil:
		return b.Go.basis(), nil
	case b.Dockerfile != nil:
		return b.Dockerfile.basis(ctx, tree, files, i.Inputs, i.sortedPlatforms())
	}
	return basis{}, nil
}
