package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// MaxFile is how large a file ReadFile reads, in bytes.
const MaxFile = 16 << 20

// ErrTooLarge is returned by Tree.ReadFile for a file larger than MaxFile.
var ErrTooLarge = errors.New("file is too large")

// maxDepth bounds how deep a walk descends: no checkout could hold more.
const maxDepth = 512

// Lookup returns the entry at a slash-separated path; "" and "." are the root.
// The error matches ErrNotFound if there is none.
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

func indexName(entries []Entry, name string) int {
	for i := range entries {
		if entries[i].Name == name {
			return i
		}
	}
	return -1
}

// ReadFile returns the content of the file at a path. Symbolic links are not
// followed. The error matches ErrNotFound if there is no file, and ErrTooLarge.
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
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
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

// Walk calls f for every entry below the root, directories before what they
// hold, in Git's order. If f returns fs.SkipDir for a directory, it is not
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
		if errors.Is(err, fs.SkipDir) && e.Mode == ModeDir {
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
