package catalogue

import (
	"context"
	"errors"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// recall is look with the help of the tree's cache. It returns neither a result
// nor an error if there is no cache, or if a limit was reached: of what is
// recalled, more is counted than there may be, so that whether there really is
// too much is found without a cache.
func (c *Catalogue) recall(ctx context.Context, tree source.Tree, wanted []int) (*resolver, error) {
	known, ok := tree.Objects.(cached)
	if !ok {
		return nil, nil
	}
	w := newWalker(tree.Objects)
	w.slots = &slots{known.cache}
	r, err := c.look(ctx, w, tree, wanted)
	if errors.Is(err, source.ErrTooLarge) || r != nil && slices.ContainsFunc(r.all, func(c candidate) bool { return errors.Is(c.err, source.ErrTooLarge) }) {
		return nil, nil
	}
	return r, err
}
