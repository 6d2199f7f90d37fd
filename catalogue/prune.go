package catalogue

import (
	"context"
	"errors"
	"fmt"

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

// pruning is one call of prune.
type pruning struct {
	*walker
	made *source.MemoryObjects
	summary
}

func (w *walker) prune(ctx context.Context, root source.ID, p Patterns) (source.Tree, int, error) {
	run := &pruning{walker: w, made: source.NewMemory()}
	entries, whole, err := run.dir(ctx, "", root, p.root())
	if err != nil {
		return source.Tree{}, 0, err
	}
	var errs []error
	for _, path := range run.submodules {
		errs = append(errs, &SubmoduleError{Path: path})
	}
	if len(entries) == 0 && len(errs) == 0 {
		return source.Tree{}, 0, ErrEmpty
	}
	pruned := source.Tree{ID: root, Objects: source.Overlay(run.made, w.under)}
	if !whole {
		if pruned.ID, err = run.made.PutTree(entries); err != nil {
			return source.Tree{}, 0, err
		}
	}
	for _, path := range run.links {
		err := checkLink(ctx, source.Tree{ID: pruned.ID, Objects: source.Overlay(run.made, w)}, path)
		if _, refused := errors.AsType[*SymlinkError](err); err != nil && !refused {
			return source.Tree{}, 0, err
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return source.Tree{}, 0, err
	}
	return pruned, run.files, nil
}

// dir returns what is left of the directory at path, which ends in a slash
// unless it is the root. whole says that it is all that the directory holds.
func (p *pruning) dir(ctx context.Context, path string, id source.ID, c cursor) (left []source.Entry, whole bool, err error) {
	if err := checkDepth(path); err != nil {
		return nil, false, err
	}
	entries, err := p.Tree(ctx, id)
	if err != nil {
		return nil, false, fmt.Errorf("read directory %q: %w", path, err)
	}
	whole = true
	for _, e := range entries {
		kept, same, err := p.entry(ctx, path, e, c)
		if err != nil {
			return nil, false, err
		}
		if kept.Name != "" {
			left = append(left, kept)
		}
		whole = whole && same
	}
	return left, whole, nil
}

// entry returns what is left of one entry, with an empty name if that is
// nothing.
func (p *pruning) entry(ctx context.Context, path string, e source.Entry, c cursor) (kept source.Entry, same bool, err error) {
	switch e.Mode {
	case source.ModeDir:
		return p.subdir(ctx, path+e.Name, e, c.child(e.Name))
	case source.ModeSubmodule:
		if !c.file(e.Name) && c.child(e.Name).coverage() == NoneInside {
			return source.Entry{}, false, nil
		}
		p.submodules = append(p.submodules, path+e.Name)
		return e, true, nil
	}
	if !c.file(e.Name) {
		return source.Entry{}, false, nil
	}
	p.files++
	if e.Mode == source.ModeSymlink {
		p.links = append(p.links, path+e.Name)
	}
	return e, true, nil
}

func (p *pruning) subdir(ctx context.Context, path string, e source.Entry, c cursor) (kept source.Entry, same bool, err error) {
	switch c.coverage() {
	case NoneInside:
		return source.Entry{}, false, nil
	case AllInside:
		inside, err := p.summarize(ctx, path, e.ID)
		if err != nil {
			return source.Entry{}, false, err
		}
		if !inside.hollow {
			p.add(path, inside)
			return e, true, nil
		}
	}
	left, whole, err := p.dir(ctx, path+"/", e.ID, c)
	if err != nil || len(left) == 0 {
		return source.Entry{}, false, err
	}
	if !whole {
		e.ID, err = p.made.PutTree(left)
	}
	return e, whole, err
}
