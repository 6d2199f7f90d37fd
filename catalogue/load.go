package catalogue

import (
	"context"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Load reads the catalogue of a tree: it parses the tree's own pharos.yaml, as
// Parse does. A tree that has none is an error that matches ErrNoCatalogue;
// what keeps the file from being read is returned with its cause.
func Load(ctx context.Context, tree source.Tree) (*Catalogue, error) {
	// An object that is missing and a file that is not there are both
	// source.ErrNotFound to ReadFile, and only the latter means no catalogue.
	root, err := tree.Objects.Tree(ctx, tree.ID)
	if err != nil {
		return nil, fmt.Errorf("read the tree's root: %w", err)
	}
	i := slices.IndexFunc(root, func(e source.Entry) bool { return e.Name == FileName })
	if i < 0 {
		return nil, fmt.Errorf("%w: the tree has no %s at its root: write one and commit it", ErrNoCatalogue, FileName)
	}
	if !root[i].Mode.IsFile() {
		return nil, fmt.Errorf("%w: %s is a folder, a symbolic link or a submodule, and must be an ordinary file", ErrNoCatalogue, FileName)
	}
	data, err := tree.ReadFile(ctx, FileName)
	if err != nil {
		return nil, fmt.Errorf("read %w", err)
	}
	return Parse(FileName, data)
}
