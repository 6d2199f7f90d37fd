package catalogue

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Load reads the catalogue of a tree: it parses the tree's own pharos.yaml, as
// Parse does. A tree that has none is an error that matches ErrNoCatalogue;
// what keeps the file from being read is returned with its cause.
func Load(ctx context.Context, tree source.Tree) (*Catalogue, error) {
	data, err := tree.ReadFile(ctx, FileName)
	if errors.Is(err, source.ErrNotFound) {
		return nil, fmt.Errorf("%w: the tree has no %s at its root: write one and commit it", ErrNoCatalogue, FileName)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", FileName, err)
	}
	return Parse(FileName, data)
}
