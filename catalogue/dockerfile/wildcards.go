package dockerfile

import (
	"context"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// hasWildcards says whether a source is a pattern, as BuildKit has it.
func hasWildcards(name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '*', '?', '[':
			return true
		case '\\':
			i++
		}
	}
	return false
}

// splitWildcards divides a clean path before the first name that holds a
// wildcard. Symbolic links are followed in what stands before it only.
func splitWildcards(name string) (base, pattern string) {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if hasWildcards(part) {
			return strings.Join(parts[:i], "/"), strings.Join(parts[i:], "/")
		}
	}
	return name, ""
}

// roots are the clean paths that a source stands for: itself, or what its
// wildcards match. Otherwise the reason says why there can be none.
func (c *buildContext) roots(ctx context.Context, t take) (roots []string, reason string, err error) {
	base, pattern := splitWildcards(t.root)
	if pattern == "" || t.literal {
		return []string{t.root}, "", nil
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, "is no valid pattern", nil
	}
	dir, err := c.resolve(ctx, base)
	if err != nil || dir == nil {
		return nil, nothing, err
	}
	err = c.match(ctx, dir, "", pattern, func(n *node) { roots = append(roots, n.path) })
	return roots, "", err
}

// match calls f for what a pattern matches below a directory, and does not look
// into what it matches.
func (c *buildContext) match(ctx context.Context, dir *node, rel, pattern string, f func(*node)) error {
	children, err := c.list(ctx, dir)
	if err != nil {
		return err
	}
	for _, n := range children {
		if err := c.step(ctx, 1); err != nil {
			return err
		}
		name := path.Join(rel, n.name)
		if err := c.compare(len(pattern), len(name)); err != nil {
			return err
		}
		if ok, _ := path.Match(pattern, name); ok {
			f(n)
		} else if n.mode == source.ModeDir && mayMatchBelow(pattern, name) {
			if err := c.match(ctx, n, name, pattern, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayMatchBelow says whether a pattern may match something below a directory.
// Neither * nor ? stands for a slash; a class may, and \ may stand before one.
func mayMatchBelow(pattern, dir string) bool {
	if strings.ContainsAny(pattern, `[\`) {
		return true
	}
	parts, depth := strings.Split(pattern, "/"), strings.Count(dir, "/")+1
	if len(parts) <= depth {
		return false
	}
	ok, _ := path.Match(strings.Join(parts[:depth], "/"), dir)
	return ok
}
