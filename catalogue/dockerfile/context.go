package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// buildContext is a tree without what the ignore rules take from it. It reads
// directories when they are asked for.
type buildContext struct {
	tree   source.Tree
	ignore *rules // nil if there are none
	root   *node
	*reading
}

// reading is what was read, and how much was looked at.
type reading struct {
	files []string
	limits
	used limits
}

// node is a file or a directory of the context.
type node struct {
	name     string
	path     string // "" for the root
	mode     source.Mode
	id       source.ID
	parent   *node
	children []*node
	listed   bool
	taken    bool   // of a directory: everything below it
	matched  []bool // by which ignore rules; see rules
}

func newContext(tree source.Tree, ignore *rules, r *reading) *buildContext {
	return &buildContext{tree: tree, ignore: ignore, reading: r, root: &node{mode: source.ModeDir, id: tree.ID}}
}

// step counts what is done, so that a tree and a Dockerfile of a few kilobytes
// cannot ask for years.
func (r *reading) step(ctx context.Context, n int) error {
	if r.used.steps += n; r.used.steps > r.steps {
		return &TooLargeError{What: "paths to compare with patterns", Limit: r.steps}
	}
	return ctx.Err()
}

// compare counts a comparison of a path with a pattern that has wildcards.
func (r *reading) compare(pattern, path int) error {
	if r.used.products += pattern * path; r.used.products > r.products {
		return &TooLargeError{What: "bytes of paths times bytes of the patterns that they are compared with", Limit: r.products}
	}
	return nil
}

// take notes a file that is read.
func (r *reading) take(n *node) {
	if !n.taken {
		n.taken = true
		r.files = append(r.files, n.path)
	}
}

// list returns what a directory holds, without what is ignored.
func (c *buildContext) list(ctx context.Context, dir *node) ([]*node, error) {
	if dir.listed || dir.mode != source.ModeDir {
		return dir.children, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := c.tree.Objects.Tree(ctx, dir.id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(dir.path), err)
	}
	if c.used.entries += len(entries); c.used.entries > c.entries {
		return nil, &TooLargeError{What: "files and directories", Limit: c.entries}
	}
	below := ""
	if dir.path != "" {
		below = dir.path + "/"
	}
	nodes := make([]node, len(entries))
	dir.children = make([]*node, 0, len(entries))
	for i, e := range entries {
		n := &nodes[i]
		*n = node{name: e.Name, path: below + e.Name, mode: e.Mode, id: e.ID, parent: dir}
		if len(n.path) > maxPath {
			return nil, &TooLargeError{What: "bytes in a path", Limit: maxPath}
		}
		if c.used.paths += len(n.path); c.used.paths > c.paths {
			return nil, &TooLargeError{What: "bytes of paths", Limit: c.paths}
		}
		kept, err := c.keep(ctx, n)
		if err != nil {
			return nil, err
		}
		if kept {
			dir.children = append(dir.children, n)
		}
	}
	// Git has directories elsewhere than files of the same name.
	slices.SortFunc(dir.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	dir.listed = true
	return dir.children, nil
}

// keep says whether something is in the context. A directory that is ignored is
// there if something is that it holds.
func (c *buildContext) keep(ctx context.Context, n *node) (bool, error) {
	if c.ignore == nil {
		return true, nil
	}
	ignored, each, err := c.matches(ctx, c.ignore, n.path, n.parent.matched)
	n.matched = each
	if err != nil || !ignored {
		return true, err
	}
	if n.mode != source.ModeDir {
		return false, nil
	}
	if err := c.step(ctx, len(c.ignore.within)); err != nil {
		return false, c.ignore.blamed(err)
	}
	if !c.ignore.reopens(n.path) {
		return false, nil
	}
	children, err := c.list(ctx, n)
	return len(children) > 0, err
}

// child returns what a directory holds under a name, or nil.
func (c *buildContext) child(ctx context.Context, dir *node, name string) (*node, error) {
	children, err := c.list(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := c.step(ctx, 1); err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(children, name, func(n *node, name string) int { return strings.Compare(n.name, name) })
	if !ok {
		return nil, nil
	}
	return children[i], nil
}

// resolve returns what is at a clean path, or nil if there is nothing. It follows
// symbolic links, also the last, as if the context's root were that of the file
// system. The links on the way are read.
func (c *buildContext) resolve(ctx context.Context, name string) (*node, error) {
	at, links := c.root, []*node(nil)
	rest := strings.Split(name, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at.parent != nil {
				at = at.parent
			}
			continue
		}
		next, err := c.child(ctx, at, part)
		if next == nil || err != nil {
			return nil, err
		}
		if next.mode != source.ModeSymlink {
			at = next
			continue
		}
		if links = append(links, next); len(links) > maxLinks {
			return nil, nil
		}
		target, err := c.readLink(ctx, next)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(target, "/") {
			at = c.root
		}
		rest = append(strings.Split(path.Clean(target), "/"), rest...)
	}
	for _, l := range links {
		c.take(l)
	}
	return at, nil
}

func (c *buildContext) readLink(ctx context.Context, n *node) (string, error) {
	r, size, err := c.tree.Objects.Blob(ctx, n.id)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.path, err)
	}
	defer r.Close()
	if size > maxPath {
		return "", &TooLargeError{What: "bytes in the target of a symbolic link", Limit: maxPath}
	}
	target, err := io.ReadAll(io.LimitReader(r, size))
	if err == nil && int64(len(target)) != size {
		err = errors.New("its content ends early")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.path, err)
	}
	return string(target), nil
}

func describe(dir string) string {
	if dir == "" {
		return "the root"
	}
	return dir
}

// clean is a path from the root of the context as tree entries have it: "" for
// the root. Nothing leads out of it.
func clean(name string) string { return strings.TrimPrefix(path.Join("/", name), "/") }
