package dockerfile

import (
	"context"
	"path"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// filter is what is taken below a source; a nil rule is none.
type filter struct{ include, exclude *rules }

// above is what the rules say of the directory that something lies in.
type above struct{ include, exclude []bool }

// takeBelow takes a source and what it holds. rel is the path from the source,
// "" for itself: the rules are only for what it holds. It says whether anything
// was taken.
func (c *buildContext) takeBelow(ctx context.Context, n *node, rel string, f filter, in above) (bool, error) {
	if err := c.step(ctx, 1); err != nil {
		return false, err
	}
	var here above
	take := true
	if rel != "" && f.include != nil {
		included, each, err := c.matches(ctx, f.include, rel, in.include)
		if err != nil {
			return false, err
		}
		take, here.include = included, each
	}
	if rel != "" && f.exclude != nil {
		excluded, each, err := c.matches(ctx, f.exclude, rel, in.exclude)
		if err != nil {
			return false, err
		}
		here.exclude = each
		if excluded && n.mode == source.ModeDir && !f.exclude.reopens(rel) {
			return false, nil
		}
		take = take && !excluded
	}
	if n.mode != source.ModeDir {
		if take {
			c.take(n)
		}
		return take, nil
	}
	if n.taken && f.include == nil {
		return true, nil
	}
	children, err := c.list(ctx, n)
	if err != nil {
		return false, err
	}
	took := take && rel != ""
	for _, child := range children {
		t, err := c.takeBelow(ctx, child, path.Join(rel, child.name), f, here)
		if err != nil {
			return false, err
		}
		took = took || t
	}
	n.taken = n.taken || f == filter{}
	return took, nil
}
