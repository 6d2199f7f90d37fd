package catalogue

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// A tree of a few kilobytes, each directory holding the next one ten times, can
// stand for more files than any disk holds. The limits are far above what a
// checkout has, and count what the tree stands for, whichever part of it was
// read: the same tree is refused everywhere.
const (
	// maxEntries is how many files and directories are looked at.
	maxEntries = 1 << 21
	// maxPathBytes is how long the paths of all of a tree's files may be
	// together, where they are kept.
	maxPathBytes = 1 << 28
	// maxLinkSteps is how many names are looked up to follow the symbolic links
	// of one image.
	maxLinkSteps = 1 << 22
	// maxRefused is how many links and submodules are reported.
	maxRefused = 1000
)

// TooLargeError is returned for a tree that stands for more than the package
// comment's limits. It matches source.ErrTooLarge.
type TooLargeError struct {
	What  string // what there is too much of
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the tree is too large: there are more than %d %s to look at", e.Limit, e.What)
}

// Is says whether target is source.ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == source.ErrTooLarge }

// measured returns a tree for one walk, which fails once the walk has seen more
// than maxEntries.
func measured(tree source.Tree) source.Tree {
	if tree.Objects != nil {
		tree.Objects = &metered{Objects: tree.Objects}
	}
	return tree
}

type metered struct {
	source.Objects
	entries atomic.Int64
}

func (m *metered) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	entries, err := m.Objects.Tree(ctx, id)
	if err == nil && m.entries.Add(int64(len(entries))) > maxEntries {
		return nil, &TooLargeError{What: "files and directories", Limit: maxEntries}
	}
	return entries, err
}
