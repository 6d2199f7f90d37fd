package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// MemoryObjects holds objects in memory. It is safe for concurrent use.
type MemoryObjects struct {
	mu    sync.RWMutex
	trees map[ID][]Entry
	blobs map[ID][]byte
}

var _ Objects = (*MemoryObjects)(nil)

// NewMemory returns an empty store.
func NewMemory() *MemoryObjects {
	return &MemoryObjects{trees: map[ID][]Entry{}, blobs: map[ID][]byte{}}
}

// PutBlob stores a blob and returns its SHA-1 ID. The store keeps content.
func (m *MemoryObjects) PutBlob(content []byte) ID {
	id := HashBlob(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[id] = content
	return id
}

// PutTree stores a tree object and returns its ID. The store keeps entries and
// sorts them in Git's order. The error matches ErrMalformed if they are no tree
// that Git would write.
func (m *MemoryObjects) PutTree(entries []Entry) (ID, error) {
	SortEntries(entries)
	if err := CheckEntries(entries); err != nil {
		return "", err
	}
	id := HashTree(entries)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees[id] = entries
	return id, nil
}

// Tree returns the entries of a tree object.
func (m *MemoryObjects) Tree(_ context.Context, id ID) ([]Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	entries, ok := m.trees[id]
	if !ok {
		return nil, fmt.Errorf("tree %s: %w", id, ErrNotFound)
	}
	return entries, nil
}

// Blob opens a blob object.
func (m *MemoryObjects) Blob(_ context.Context, id ID) (io.ReadCloser, int64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	content, ok := m.blobs[id]
	if !ok {
		return nil, 0, fmt.Errorf("blob %s: %w", id, ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}

// Overlay reads each object from over, and from under where over does not have
// it.
func Overlay(over, under Objects) Objects { return overlay{over, under} }

type overlay struct{ over, under Objects }

func (o overlay) Tree(ctx context.Context, id ID) ([]Entry, error) {
	entries, err := o.over.Tree(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return o.under.Tree(ctx, id)
	}
	return entries, err
}

func (o overlay) Blob(ctx context.Context, id ID) (io.ReadCloser, int64, error) {
	r, size, err := o.over.Blob(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return o.under.Blob(ctx, id)
	}
	return r, size, err
}

// File is a file of a tree made by FromFiles.
type File struct {
	// Content is the file's content, or a symbolic link's target.
	Content string
	// Mode is the file's mode. The default is ModeFile.
	Mode Mode
}

// FromFiles makes a tree in memory from files by their slash-separated paths.
// It is for tests and for programs that have no repository. A path that Git
// could not store, or that is both a file and a directory, is an ErrMalformed.
func FromFiles(files map[string]File) (Tree, error) {
	m := NewMemory()
	root := &folder{}
	for name, f := range files {
		if f.Mode == 0 {
			f.Mode = ModeFile
		}
		if err := root.add(m, strings.Split(name, "/"), f); err != nil {
			return Tree{}, fmt.Errorf("%q: %w", name, err)
		}
	}
	id, err := root.put(m)
	return Tree{ID: id, Objects: m}, err
}

type folder struct {
	folders map[string]*folder
	entries map[string]Entry
}

func (d *folder) add(m *MemoryObjects, parts []string, f File) error {
	name := parts[0]
	if err := checkName(name); err != nil {
		return err
	}
	_, isFile := d.entries[name]
	sub, isFolder := d.folders[name]
	if isFile || isFolder && len(parts) == 1 {
		return fmt.Errorf("%w: %q is a file and a directory", ErrMalformed, name)
	}
	if len(parts) == 1 {
		if d.entries == nil {
			d.entries = map[string]Entry{}
		}
		d.entries[name] = Entry{Name: name, Mode: f.Mode, ID: m.PutBlob([]byte(f.Content))}
		return nil
	}
	if !isFolder {
		if d.folders == nil {
			d.folders = map[string]*folder{}
		}
		sub = &folder{}
		d.folders[name] = sub
	}
	return sub.add(m, parts[1:], f)
}

func (d *folder) put(m *MemoryObjects) (ID, error) {
	var entries []Entry
	for _, e := range d.entries {
		entries = append(entries, e)
	}
	for name, sub := range d.folders {
		id, err := sub.put(m)
		if err != nil {
			return "", err
		}
		entries = append(entries, Entry{Name: name, Mode: ModeDir, ID: id})
	}
	return m.PutTree(entries)
}
