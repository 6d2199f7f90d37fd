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
	// maxImages is how many images a catalogue may have.
	maxImages = 4096
	// maxSteps is how often a pattern is held against a name, for all images.
	maxSteps = 1 << 33
	// maxCut is how many entries are left of directories of which something is
	// cut away, for all images: they are kept in memory.
	maxCut = 1 << 23
	// maxKnown is how many directories are remembered once they are pruned, so
	// that other images need not look at them again.
	maxKnown = 1 << 21
	// maxPath is how long the path of a directory may be, in bytes: the PATH_MAX
	// of Linux.
	maxPath = 4096
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

// tooMany returns a *TooLargeError for more entries than are looked at.
func tooMany(entries int) error {
	if entries > maxEntries {
		return &TooLargeError{What: "files and directories", Limit: maxEntries}
	}
	return nil
}

// checkDirPath refuses the path of a directory that no machine could hold. It
// bounds how deep a walk goes.
func checkDirPath(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("%w: the path of a directory is longer than %d bytes: %s…", source.ErrMalformed, maxPath, path[:80])
	}
	return nil
}

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
	if err == nil {
		err = tooMany(int(min(m.entries.Add(int64(len(entries))), maxEntries+1)))
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}
