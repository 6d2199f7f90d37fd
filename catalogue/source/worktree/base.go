package worktree

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// baseTree is the tree that changes are made to: that of HEAD.
type baseTree struct {
	objects source.Objects
	id      source.ID // "" for no commit
	folders map[string][]source.Entry
}

// has says whether there is anything at a path.
func (b *baseTree) has(ctx context.Context, name string) (bool, error) {
	dir, base := path.Split(name)
	entries, err := b.folder(ctx, strings.TrimSuffix(dir, "/"))
	return slices.ContainsFunc(entries, func(e source.Entry) bool { return e.Name == base }), err
}

// folder returns the entries of a folder, "" the root, none if it is none.
func (b *baseTree) folder(ctx context.Context, dir string) (entries []source.Entry, err error) {
	if b.id == "" {
		return nil, nil
	}
	if entries, ok := b.folders[dir]; ok {
		return entries, nil
	}
	id := b.id
	if dir != "" {
		above, name := path.Split(dir)
		siblings, err := b.folder(ctx, strings.TrimSuffix(above, "/"))
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(siblings, func(e source.Entry) bool { return e.Name == name && e.Mode == source.ModeDir })
		if i < 0 {
			return nil, nil
		}
		id = siblings[i].ID
	}
	if entries, err = b.objects.Tree(ctx, id); err != nil {
		return nil, fmt.Errorf("the folder %q of HEAD: %w", dir, err)
	}
	if b.folders == nil {
		b.folders = map[string][]source.Entry{}
	}
	b.folders[dir] = entries
	return entries, nil
}

// with returns the tree with some files changed, one without an ID if it is
// empty; the zero state removes a file.
func (b *baseTree) with(ctx context.Context, changes map[string]state) (source.Tree, error) {
	if len(changes) == 0 && b.id != "" {
		return source.Tree{ID: b.id, Objects: b.objects}, nil
	}
	root := &folder{}
	for name, s := range changes {
		root.add(strings.Split(name, "/"), s)
	}
	m := &maker{base: b, made: &madeTrees{Objects: b.objects, trees: map[source.ID][]source.Entry{}}}
	id, err := m.make(ctx, root, "", true)
	return source.Tree{ID: id, Objects: m.made}, err
}

// foldersAndFiles reads folders where they may be known already, and files where
// new ones are too.
type foldersAndFiles struct{ folders, files source.Objects }

// Tree returns the entries of a tree.
func (o *foldersAndFiles) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	return o.folders.Tree(ctx, id)
}

// Blob opens a blob.
func (o *foldersAndFiles) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	return o.files.Blob(ctx, id)
}

// BlobSize returns the size of a blob.
func (o *foldersAndFiles) BlobSize(ctx context.Context, id source.ID) (int64, error) {
	return source.BlobSize(ctx, o.files, id)
}

// madeTrees are objects and some more trees, which do not change any more when
// they are read.
type madeTrees struct {
	source.Objects
	trees map[source.ID][]source.Entry
}

// Tree returns the entries of a tree.
func (m *madeTrees) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if entries, ok := m.trees[id]; ok {
		return entries, ctx.Err()
	}
	return m.Objects.Tree(ctx, id)
}

// BlobSize returns the size of a blob.
func (m *madeTrees) BlobSize(ctx context.Context, id source.ID) (int64, error) {
	return source.BlobSize(ctx, m.Objects, id)
}

// folder holds the changes in one folder, by name.
type folder struct {
	files   map[string]state
	folders map[string]*folder
}

func (f *folder) add(parts []string, s state) {
	if len(parts) == 1 {
		if f.files == nil {
			f.files = map[string]state{}
		}
		f.files[parts[0]] = s
		return
	}
	sub := f.folders[parts[0]]
	if sub == nil {
		sub = &folder{}
		if f.folders == nil {
			f.folders = map[string]*folder{}
		}
		f.folders[parts[0]] = sub
	}
	sub.add(parts[1:], s)
}

// maker makes the trees of changed folders, in memory: they are few, and written
// out they would have to be kept and looked after.
type maker struct {
	base *baseTree
	made *madeTrees
}

// make returns the ID of a changed folder's tree, "" for an empty one, which has
// none. Of a folder that is new, none of the base is read.
func (m *maker) make(ctx context.Context, f *folder, dir string, exists bool) (source.ID, error) {
	entries := map[string]source.Entry{}
	if exists {
		old, err := m.base.folder(ctx, dir)
		if err != nil {
			return "", err
		}
		for _, e := range old {
			entries[e.Name] = e
		}
	}
	for name, sub := range f.folders {
		at := path.Join(dir, name)
		id, err := m.make(ctx, sub, at, exists && entries[name].Mode == source.ModeDir)
		if err != nil {
			return "", err
		}
		switch {
		case id != "":
			entries[name] = source.Entry{Name: name, Mode: source.ModeDir, ID: id}
		case entries[name].Mode == source.ModeDir:
			delete(entries, name)
		}
	}
	for name, s := range f.files {
		was := entries[name].Mode
		switch {
		case s.mode != 0 && was == source.ModeDir: // with something left in it
			return "", fmt.Errorf("%w: %s is a file and a folder", errMoved, path.Join(dir, name))
		case s.mode != 0:
			entries[name] = source.Entry{Name: name, Mode: s.mode, ID: s.id}
		case was != source.ModeDir:
			delete(entries, name) // a folder in its place stays
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	tree := slices.Collect(maps.Values(entries))
	source.SortEntries(tree)
	if err := source.CheckEntries(tree); err != nil {
		return "", fmt.Errorf("the folder %q: %w", dir, err)
	}
	id := source.HashTree(tree)
	m.made.trees[id] = tree
	return id, nil
}
