package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// MaxFile is how large a file ReadFile reads, in bytes.
const MaxFile = 16 << 20

// ErrTooLarge is returned by Tree.ReadFile for a file larger than MaxFile.
var ErrTooLarge = odb.ErrTooLarge

// maxDepth bounds how deep a walk descends: no checkout could hold more.
const maxDepth = 512

// maxEntries bounds what Export and Diff gather: a tree of a few kilobytes, each
// directory holding the next one ten times, can stand for billions of files.
const maxEntries = 1 << 21

// Lookup returns the entry at a slash-separated path, as fs.ValidPath has it; ""
// and "." are the root. Symbolic links are not followed. The error matches
// ErrNotFound if there is none.
func (t Tree) Lookup(ctx context.Context, name string) (Entry, error) {
	e := Entry{Mode: ModeDir, ID: t.ID}
	if name == "" || name == "." {
		return e, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if e.Mode != ModeDir {
			return Entry{}, fmt.Errorf("%s: %w", name, ErrNotFound)
		}
		entries, err := t.Objects.Tree(ctx, e.ID)
		if err != nil {
			return Entry{}, fmt.Errorf("%s: %w", name, err)
		}
		i := indexName(entries, part)
		if i < 0 {
			return Entry{}, fmt.Errorf("%s: %w", name, ErrNotFound)
		}
		e = entries[i]
	}
	return e, nil
}

// indexName searches in Git's order, where a name stands elsewhere if it is a
// directory's.
func indexName(entries []Entry, name string) int {
	for _, mode := range []Mode{ModeFile, ModeDir} {
		i, found := slices.BinarySearchFunc(entries, Entry{Name: name, Mode: mode}, compareEntries)
		if found && entries[i].Name == name {
			return i
		}
	}
	return -1
}

// ReadFile returns the content of the regular file at a path. Symbolic links are
// not followed. Errors: ErrNotFound if there is no such file, ErrTooLarge if it
// is larger than MaxFile, which is found before it is read.
func (t Tree) ReadFile(ctx context.Context, name string) ([]byte, error) {
	e, err := t.Lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	if !e.Mode.IsFile() {
		return nil, fmt.Errorf("%s is no regular file: %w", name, ErrNotFound)
	}
	return readBlob(ctx, t.Objects, e.ID, name)
}

func readBlob(ctx context.Context, objects Objects, id ID, name string) ([]byte, error) {
	r, size, err := objects.Blob(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	if size > MaxFile {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read: %w", name, size, MaxFile, ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(r, size+1))
	if err == nil && int64(len(data)) != size {
		err = fmt.Errorf("%w: its size is not the %d bytes that it was said to have", ErrCorrupt, size)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// ReadDir returns the entries of the directory at a path, in Git's order. The
// error matches ErrNotFound if there is no directory.
func (t Tree) ReadDir(ctx context.Context, name string) ([]Entry, error) {
	e, err := t.Lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	if e.Mode != ModeDir {
		return nil, fmt.Errorf("%s is no directory: %w", name, ErrNotFound)
	}
	return t.Objects.Tree(ctx, e.ID)
}

// SkipDir is returned by a function given to Tree.Walk for a directory that is
// not to be descended into. It is fs.SkipDir.
var SkipDir = fs.SkipDir

// Walk calls f for every entry below the root, directories before what they
// hold, in Git's order. If f returns SkipDir for a directory, it is not
// descended into; any other error ends the walk and is returned.
func (t Tree) Walk(ctx context.Context, f func(path string, e Entry) error) error {
	return t.walk(ctx, t.ID, "", 0, f)
}

func (t Tree) walk(ctx context.Context, id ID, dir string, depth int, f func(string, Entry) error) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: %w: directories are nested more than %d deep", dir, ErrMalformed, maxDepth)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := t.Objects.Tree(ctx, id)
	if err != nil {
		return fmt.Errorf("%s: %w", nameOf(dir), err)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name)
		err := f(p, e)
		if errors.Is(err, SkipDir) && e.Mode == ModeDir {
			continue
		}
		if err != nil {
			return err
		}
		if e.Mode == ModeDir {
			if err := t.walk(ctx, e.ID, p, depth+1, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func nameOf(dir string) string {
	if dir == "" {
		return "the root"
	}
	return dir
}
