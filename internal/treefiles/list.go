package treefiles

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

const (
	maxEntries   = 1 << 21   // as in package catalogue
	maxPathBytes = 256 << 20 // in memory
	maxDepth     = 512       // as source.Tree.Walk has it
)

// File is a file, symbolic link or submodule of a tree.
type File struct {
	Path string // from the tree's root
	source.Entry
}

// List returns all files, sorted bytewise by path. The error is a
// *catalogue.TooLargeError for a tree of more than 2,097,152 entries or 256 MiB of
// paths, or one of the tree's objects or of ctx.
func List(ctx context.Context, tree source.Tree) ([]File, error) {
	c := counter{objects: tree.Objects, known: map[source.ID]int{}}
	if _, err := c.count(ctx, tree.ID, 0); err != nil {
		return nil, err
	}
	var files []File
	bytes := 0
	err := tree.Walk(ctx, func(name string, e source.Entry) error {
		if e.Mode == source.ModeDir {
			return nil
		}
		if bytes += len(name); bytes > maxPathBytes {
			return &catalogue.TooLargeError{What: "bytes of paths", Limit: maxPathBytes}
		}
		files = append(files, File{Path: name, Entry: e})
		return nil
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// counter counts entries, each directory once however often it is held.
type counter struct {
	objects source.Objects
	known   map[source.ID]int
}

func (c *counter) count(ctx context.Context, id source.ID, depth int) (int, error) {
	if n, ok := c.known[id]; ok {
		return n, nil
	}
	if depth > maxDepth {
		return 0, fmt.Errorf("%w: directories are nested more than %d deep", source.ErrMalformed, maxDepth)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	entries, err := c.objects.Tree(ctx, id)
	if err != nil {
		return 0, err
	}
	total := len(entries)
	for _, e := range entries {
		if e.Mode != source.ModeDir {
			continue
		}
		n, err := c.count(ctx, e.ID, depth+1)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", e.Name, err)
		}
		if total += n; total > maxEntries {
			return 0, &catalogue.TooLargeError{What: "files and directories", Limit: maxEntries}
		}
	}
	c.known[id] = total
	return total, nil
}
