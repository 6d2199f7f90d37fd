package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// edit is a file whose content git has to look at.
type edit struct {
	line
	info  fs.FileInfo
	key   string
	attrs string // of the .gitattributes above it, and of all names where they matter
	// lasting says that what git makes of it can be remembered: it will be seen
	// when the file is changed again.
	lasting bool
}

// changes returns what is not as in HEAD.
func (c *checkout) changes(ctx context.Context, store *store, work *scratch, st *status, base *baseTree) (map[string]state, error) {
	changes := map[string]state{}
	around := c.surroundings(st, work)
	var edits []edit
	for _, l := range st.lines {
		switch {
		case !l.edited:
			changes[l.path] = l.index
		case l.onDisk == 0 && !l.untracked:
			changes[l.path] = state{}
		default:
			e, err := c.edit(l, around)
			if err != nil {
				return nil, err
			}
			if e != nil {
				edits = append(edits, *e)
			}
		}
	}
	if len(edits) == 0 {
		return changes, nil
	}
	if err := c.tooLarge(edits); err != nil {
		return nil, err
	}
	if st.effective == nil {
		var err error
		if st.effective, err = c.effective(ctx, store, work); err != nil {
			return nil, err
		}
	}
	around.under(st.effective)
	if around.foldsCase { // a new file goes into a folder that is in the index by another name
		names := st.names()
		for i := range edits {
			if edits[i].untracked {
				edits[i].attrs += "/" + names
			}
		}
	}
	known := store.load(around.context)
	todo := edits[:0:0]
	for _, e := range edits {
		r, ok := known.records[e.path]
		if ok && e.lasting && r.index == e.index && r.key == e.key && r.attrs == e.attrs && stored(ctx, store, base.objects, r.made) {
			changes[e.path] = r.made
			continue
		}
		todo = append(todo, e)
	}
	if len(todo) > 0 {
		made, all, err := c.hash(ctx, store, work, st, base, around, todo)
		switch {
		case err != nil:
			return nil, c.unlessMoved(err, todo)
		case all:
			changes = made
		default:
			for _, e := range todo {
				changes[e.path] = made[e.path]
			}
		}
	}
	if len(todo) > 0 || len(known.records) > len(edits) {
		if err := c.remember(store, work, known, edits, todo, changes); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// edit looks at a file; nil for one that has gone since git saw it.
func (c *checkout) edit(l line, around *surroundings) (*edit, error) {
	info, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(l.path)))
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case gone && l.untracked:
		return nil, nil
	case gone:
		return nil, fmt.Errorf("%w: %s has gone", errMoved, l.path)
	case err != nil:
		return nil, err
	case info.IsDir() && l.onDisk != source.ModeSubmodule:
		return nil, fmt.Errorf("%w: %s has become a folder", errMoved, l.path)
	}
	attrs := around.of(l.path)
	return &edit{
		line: l, info: info, key: fileKey(info), attrs: attrs.key,
		// What a submodule stands at is not told by its folder.
		lasting: attrs.settled && around.settled(info) && l.onDisk != source.ModeSubmodule,
	}, nil
}

func (c *checkout) tooLarge(edits []edit) error {
	var paths []string
	for _, e := range edits {
		if e.info.Mode().IsRegular() && e.info.Size() > c.maxFile {
			paths = append(paths, fmt.Sprintf("%s (%d bytes)", e.path, e.info.Size()))
		}
	}
	if paths == nil {
		return nil
	}
	return &PathsError{c.root, source.ErrTooLarge, paths,
		fmt.Sprintf("at most %d bytes are read of a file that is not committed; name it in .gitignore", c.maxFile)}
}

// unlessMoved tells a failure from one that only came of a file's being changed.
func (c *checkout) unlessMoved(err error, edits []edit) error {
	var failed *GitError
	if !errors.As(err, &failed) {
		return err
	}
	for _, e := range edits {
		info, statErr := os.Lstat(filepath.Join(c.root, filepath.FromSlash(e.path)))
		if statErr != nil || fileKey(info) != e.key {
			return fmt.Errorf("%w: %s: %w", errMoved, e.path, err)
		}
	}
	return err
}

// stored says whether an object is still there: one that the repository happened
// to have may have been pruned.
func stored(ctx context.Context, s *store, objects source.Objects, made state) bool {
	loose := filepath.Join(s.objects(), string(made.id[:2]), string(made.id[2:]))
	if info, err := os.Stat(loose); err == nil {
		return info.Size() > 0
	}
	r, _, err := objects.Blob(ctx, made.id)
	if err != nil {
		return false
	}
	r.Close()
	return true
}

// remember keeps what was found out of files, and leaves the store if it has
// grown.
func (c *checkout) remember(s *store, work *scratch, known *cache, edits, hashed []edit, changes map[string]state) error {
	records := map[string]record{}
	inUse := int64(0)
	for _, e := range edits {
		inUse += e.info.Size()
		if e.lasting && changes[e.path].mode != 0 {
			records[e.path] = record{index: e.index, key: e.key, attrs: e.attrs, made: changes[e.path]}
		}
	}
	for _, e := range hashed {
		known.written += e.info.Size()
	}
	known.records = records
	if known.written > maxStore || work.died {
		size, err := s.size()
		if err != nil {
			return err
		}
		if known.written = size; size > maxStore+2*inUse {
			_, err := s.next()
			return err
		}
	}
	return s.save(known, work)
}
