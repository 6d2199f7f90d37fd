package source

import (
	"context"
	"fmt"
	"path"
)

// Change is a path that differs between two trees. Where it is missing, the
// entry is zero. A directory never is a change: what it holds is.
type Change struct {
	Path     string
	Old, New Entry
}

// Diff returns what differs between two trees, sorted bytewise by path. It
// descends only where IDs differ. The zero Tree holds nothing. A rename is a
// path that went and one that came; a file that became a directory is one that
// went, and what the directory holds came. Errors: ErrNotFound if an object is
// missing; ErrTooLarge if there are more than two million changes, or if their
// paths have more than 256 MiB in all.
func Diff(ctx context.Context, old, new Tree) ([]Change, error) {
	d := differ{old: old.Objects, new: new.Objects}
	err := d.dirs(ctx, old.ID, new.ID, "", 0)
	if err != nil {
		return nil, err
	}
	return d.changes, nil
}

// maxPaths bounds the bytes of all paths that are gathered: a few kilobytes of
// trees can stand for long ones many times over.
const maxPaths = 256 << 20

type differ struct {
	old, new Objects
	changes  []Change
	paths    int // their bytes
}

func (d *differ) dirs(ctx context.Context, old, new ID, dir string, depth int) error {
	if old == new {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%s: %w: directories are nested more than %d deep", dir, ErrMalformed, maxDepth)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	before, err := entriesOf(ctx, d.old, old, dir)
	if err != nil {
		return err
	}
	after, err := entriesOf(ctx, d.new, new, dir)
	if err != nil {
		return err
	}
	for len(before) > 0 || len(after) > 0 {
		var o, n Entry
		switch {
		case len(after) == 0 || len(before) > 0 && compareEntries(before[0], after[0]) < 0:
			o, before = before[0], before[1:]
		case len(before) == 0 || compareEntries(before[0], after[0]) > 0:
			n, after = after[0], after[1:]
		default:
			o, n, before, after = before[0], after[0], before[1:], after[1:]
		}
		if err := d.entry(ctx, o, n, dir, depth); err != nil {
			return err
		}
	}
	return nil
}

func entriesOf(ctx context.Context, objects Objects, id ID, dir string) ([]Entry, error) {
	if id == "" {
		return nil, nil
	}
	entries, err := objects.Tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(dir), err)
	}
	return entries, nil
}

func (d *differ) entry(ctx context.Context, o, n Entry, dir string, depth int) error {
	p := path.Join(dir, o.Name)
	if o.Name == "" {
		p = path.Join(dir, n.Name)
	}
	if o.Mode == ModeDir || n.Mode == ModeDir {
		// Git's order never pairs a directory with a file of the same name.
		return d.dirs(ctx, o.ID, n.ID, p, depth+1)
	}
	if o.Mode != n.Mode || o.ID != n.ID {
		if len(d.changes) == maxEntries {
			return fmt.Errorf("%s: there are more than %d changes: %w", p, maxEntries, ErrTooLarge)
		}
		if d.paths += len(p); d.paths > maxPaths {
			return fmt.Errorf("the paths that differ have more than %d bytes: %w", maxPaths, ErrTooLarge)
		}
		d.changes = append(d.changes, Change{Path: p, Old: o, New: n})
	}
	return nil
}
