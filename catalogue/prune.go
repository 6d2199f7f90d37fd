package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// ErrEmpty is matched by the error of Prune if the patterns choose no file.
var ErrEmpty = errors.New("the patterns choose no file of the tree")

// SubmoduleError is returned by Prune for a submodule that is, or may hold, an
// input: its files are in another repository.
type SubmoduleError struct {
	Path string // the submodule, from the root of the tree
}

func (e *SubmoduleError) Error() string {
	return fmt.Sprintf("%s is a submodule, whose files are not in this repository: exclude it with \"!%s\", or keep a copy of its files in the tree", e.Path, e.Path)
}

// Prune cuts everything away from a tree that the patterns do not choose, and
// returns what is left, a Git tree too, and the number of its files. Its ID is
// the one that git computes for a tree of just those files. Its objects are
// those of the tree, and new ones in memory for the directories of which only a
// part is left; the tree's own objects are not written to.
//
// The error matches ErrEmpty if nothing is left; it holds a *SymlinkError for
// every symbolic link that does not lead to something that is left, and a
// *SubmoduleError for every submodule that is or may hold an input, all of them
// joined; it matches source.ErrNotFound if an object of the tree is missing.
// Only objects below directories that hold an input are read, and of the blobs
// only the targets of symbolic links.
func Prune(ctx context.Context, tree source.Tree, p Patterns) (pruned source.Tree, files int, err error) {
	return newWalker(tree.Objects).prune(ctx, tree.ID, p)
}

func (w *walker) prune(ctx context.Context, root source.ID, p Patterns) (source.Tree, int, error) {
	left, err := w.dir(ctx, "", root, p.root())
	if err != nil {
		return source.Tree{}, 0, err
	}
	if left.id == "" {
		return source.Tree{}, 0, ErrEmpty
	}
	var errs []error
	for _, path := range left.submodules {
		errs = append(errs, &SubmoduleError{Path: path})
	}
	for _, path := range left.links {
		err := checkLink(ctx, source.Tree{ID: left.id, Objects: source.Overlay(w.made, w)}, path)
		if _, refused := errors.AsType[*SymlinkError](err); err != nil && !refused {
			return source.Tree{}, 0, err
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return source.Tree{}, 0, err
	}
	return source.Tree{ID: left.id, Objects: source.Overlay(w.made, w.under)}, left.files, nil
}

// remains is what is left of a directory.
type remains struct {
	id         source.ID // of its tree; empty if nothing is left
	files      int
	links      []string // paths of symbolic links, from the directory
	submodules []string // paths, from the directory
}

// add adds what is left of the directory name.
func (r *remains) add(name string, inside *remains) {
	r.files += inside.files
	for _, l := range inside.links {
		r.links = append(r.links, name+"/"+l)
	}
	for _, m := range inside.submodules {
		r.submodules = append(r.submodules, name+"/"+m)
	}
}

// dir prunes the directory of that ID, at which the patterns stand as the cursor
// says; path is for errors. What is left of the same directory under patterns
// that say the same of it is computed once.
func (w *walker) dir(ctx context.Context, path string, id source.ID, c cursor) (*remains, error) {
	if c.coverage() == AllInside {
		c = everything
	}
	key := visit{id, c.key()}
	if known := w.known(key); known != nil {
		return known, nil
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("%w: the path of a directory is longer than %d bytes: %s…", source.ErrMalformed, maxPath, path[:80])
	}
	entries, err := w.Tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read directory %q: %w", path, err)
	}
	r := &remains{}
	var kept []source.Entry
	for _, e := range entries {
		if e, err = w.entry(ctx, path, e, c, r); err != nil {
			return nil, err
		}
		if e.ID != "" {
			kept = append(kept, e)
		}
	}
	switch {
	case len(kept) == 0:
	case slices.Equal(kept, entries):
		r.id = id
	default:
		if r.id, err = w.made.PutTree(kept); err != nil {
			return nil, fmt.Errorf("prune directory %q: %w", path, err)
		}
	}
	w.remember(key, r)
	return r, nil
}

// entry returns what is left of an entry, without an ID if that is nothing, and
// counts it.
func (w *walker) entry(ctx context.Context, path string, e source.Entry, c cursor, r *remains) (source.Entry, error) {
	switch e.Mode {
	case source.ModeDir:
		child := c.child(e.Name)
		if child.coverage() == NoneInside {
			return source.Entry{}, nil
		}
		inside, err := w.dir(ctx, path+e.Name+"/", e.ID, child)
		if err != nil {
			return source.Entry{}, err
		}
		e.ID = inside.id
		r.add(e.Name, inside)
		return e, nil
	case source.ModeSubmodule:
		if !c.file(e.Name) && c.child(e.Name).coverage() == NoneInside {
			return source.Entry{}, nil
		}
		r.submodules = append(r.submodules, e.Name)
		return e, nil
	}
	if !c.file(e.Name) {
		return source.Entry{}, nil
	}
	r.files++
	if e.Mode == source.ModeSymlink {
		r.links = append(r.links, e.Name)
	}
	return e, nil
}
