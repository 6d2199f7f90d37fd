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
// every symbolic link that does not lead to something that is left, a
// *SubmoduleError for every submodule that is or may hold an input, and an
// *LFSError for every Git LFS pointer that a .gitattributes of the tree
// announces, the first thousand of them joined; it is a *TooLargeError beyond the package comment's
// limits; it matches source.ErrNotFound if an object of the tree is missing.
// Only objects below directories that hold an input, or to which a refused link
// leads, are read, and of the blobs only the targets of symbolic links, the
// .gitattributes of those directories, and the small ones among the files that
// these send through Git LFS.
func Prune(ctx context.Context, tree source.Tree, p Patterns) (pruned source.Tree, files int, err error) {
	return newWalker(tree.Objects).prune(ctx, tree.ID, p)
}

func (w *walker) prune(ctx context.Context, root source.ID, p Patterns) (source.Tree, int, error) {
	walk, _ := w.walks.Get().(*pruning)
	if walk == nil {
		walk = &pruning{walker: w}
	}
	defer w.walks.Put(walk)
	walk.entries, walk.cursors, walk.kept = 0, walk.cursors[:0], walk.kept[:0]
	left, err := walk.dir(ctx, visit{id: root, cursor: w.texts.cursor(p)})
	if err != nil {
		return source.Tree{}, 0, err
	}
	if left.id == "" {
		return source.Tree{}, 0, ErrEmpty
	}
	pruned := source.Tree{ID: left.id, Objects: w.over(w)}
	check := linkCheck{walker: w, full: source.Tree{ID: root, Objects: w}, pruned: pruned, patterns: p}
	if err := errors.Join(check.all(ctx, left), walk.refuseLFS(ctx, pruned, check.lfs)); err != nil {
		return source.Tree{}, 0, err
	}
	pruned.Objects = w.over(w.under)
	return pruned, left.files, nil
}

// remains is what is left of a directory.
type remains struct {
	id      source.ID // of its tree; empty if nothing is left
	files   int
	entries int   // those that were looked at, below it
	steps   int64 // patterns that were held against their names
	cut     int   // entries that are left of directories of which a part is left
	deep    int   // the longest path of a directory that was looked at, from here
	// special are its symbolic links and submodules and the directories that
	// hold some, or a .gitattributes that names Git LFS. The same remains may stand at many places: only a walk knows
	// the paths.
	special []special
	lfs     []string // the lines of its .gitattributes that name Git LFS
}

type special struct {
	source.Entry
	// Of a directory: what is left inside, and the ID of the whole of it.
	inside *remains
	whole  source.ID
}

// pruning prunes for one image. Its memory is kept for the next one.
type pruning struct {
	*walker
	entries int // those that were looked at so far
	// cursors holds those of the directories on the way, one behind the other,
	// and key is that of the last visit.
	cursors cursor
	key     []byte
	// kept holds what is left of those directories so far, likewise.
	kept []source.Entry
	// asked and answer are what was asked of the cache last, and put into it.
	asked, answer []byte
	// again says that what was counted before is pruned again.
	again bool
}

// look counts entries and steps. What the walker knew already counts as well, so
// that the limits depend on the tree and the patterns only.
func (p *pruning) look(entries int, steps int64) error {
	if p.again {
		return nil
	}
	p.entries += entries
	if p.walker.steps.Add(steps) > maxSteps {
		return p.exhausted()
	}
	return tooMany(p.entries)
}

// dir prunes a directory. What is left of the same directory under patterns that
// say the same of it is computed once.
func (p *pruning) dir(ctx context.Context, v visit) (*remains, error) {
	if r := p.known(&v); r != nil {
		return r, p.look(r.entries, r.steps)
	}
	key := string(v.key(p.key[:0]))
	r, err := p.divide(ctx, v)
	if err != nil {
		return nil, err
	}
	p.remember(key, r)
	p.keep(v, r)
	return r, nil
}

// known returns what is left of a directory if it was computed before, here or in
// another process; nil if not, or if paths in it are too long here.
func (p *pruning) known(v *visit) *remains {
	*v = v.simplest()
	p.key = v.key(p.key[:0])
	r := p.walker.known(p.key)
	if r == nil {
		key := string(p.key)
		if r = p.recall(v); r == nil {
			return nil
		}
		p.remember(key, r)
	}
	if len(v.path)+r.deep > maxPath {
		return nil
	}
	return r
}

// divide looks at each entry of a directory.
func (p *pruning) divide(ctx context.Context, v visit) (*remains, error) {
	if err := checkDirPath(v.path); err != nil {
		return nil, err
	}
	entries, err := p.Tree(ctx, v.id)
	if err != nil {
		return nil, fmt.Errorf("read directory %q: %w", v.path, err)
	}
	r := &remains{entries: len(entries), steps: v.steps(entries)}
	if err := p.look(r.entries, r.steps); err != nil {
		return nil, err
	}
	start, whole := len(p.kept), true
	for _, e := range entries {
		if e.Name == attributesFile && e.Mode.IsFile() {
			if r.lfs, err = p.lfs(ctx, e.ID); err != nil {
				return nil, fmt.Errorf("read %s%s: %w", v.path, e.Name, err)
			}
		}
		left, err := p.entry(ctx, v, e, r)
		if err != nil {
			return nil, err
		}
		whole = whole && left.ID == e.ID
		if left.ID != "" {
			p.kept = append(p.kept, left)
		}
	}
	kept := p.kept[start:]
	p.kept = p.kept[:start]
	switch {
	case len(kept) == 0:
	case whole:
		r.id = v.id
	default:
		r.cut += len(kept)
		if r.id, err = p.made.PutTree(slices.Clone(kept)); err == nil && !p.again {
			err = p.exhausted()
		}
		if err != nil {
			return nil, fmt.Errorf("prune directory %q: %w", v.path, err)
		}
	}
	return r, nil
}

// entry returns what is left of an entry, without an ID if that is nothing, and
// counts it.
func (p *pruning) entry(ctx context.Context, v visit, e source.Entry, r *remains) (source.Entry, error) {
	switch e.Mode {
	case source.ModeDir:
		start := len(p.cursors)
		p.cursors = v.childAfter(p.cursors, e.Name)
		defer func() { p.cursors = p.cursors[:start] }()
		child := p.cursors[start:]
		if child.coverage() == NoneInside {
			return source.Entry{}, nil
		}
		inside, err := p.dir(ctx, visit{path: v.path + e.Name + "/", id: e.ID, cursor: child})
		if err != nil {
			return source.Entry{}, err
		}
		whole := e.ID
		e.ID = inside.id
		r.files += inside.files
		r.entries += inside.entries
		r.steps += inside.steps
		r.cut += inside.cut
		r.deep = max(r.deep, len(e.Name)+1+inside.deep)
		if inside.id != "" && len(inside.special)+len(inside.lfs) > 0 {
			r.special = append(r.special, special{e, inside, whole})
		}
		return e, nil
	case source.ModeSubmodule:
		if !v.file(e.Name) && v.child(e.Name).coverage() == NoneInside {
			return source.Entry{}, nil
		}
		r.special = append(r.special, special{Entry: e})
		return e, nil
	}
	if !v.file(e.Name) {
		return source.Entry{}, nil
	}
	r.files++
	if e.Mode == source.ModeSymlink {
		r.special = append(r.special, special{Entry: e})
	}
	return e, nil
}
