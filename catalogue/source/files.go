package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// File is a file of a tree made by FromFiles.
type File struct {
	// Content is the file's content, a symbolic link's target, or the ID of
	// the commit that a submodule stands at.
	Content string
	// Mode is the file's mode. The default is ModeFile.
	Mode Mode
}

// FromFiles makes a tree in memory from files by their slash-separated paths.
// It is for tests and for programs that have no repository. The error matches
// ErrMalformed for a path or mode that Git could not store, and for a path that
// is both a file and a directory.
func FromFiles(files map[string]File) (Tree, error) {
	m := NewMemory()
	root := &folder{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
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
		e, err := f.entry(m, name)
		d.entries[name] = e
		return err
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

func (f File) entry(m *MemoryObjects, name string) (Entry, error) {
	switch {
	case f.Mode == ModeSubmodule:
		return Entry{Name: name, Mode: f.Mode, ID: ID(f.Content)}, nil
	case f.Mode == ModeDir || !f.Mode.valid():
		return Entry{}, fmt.Errorf("%w: %o is no mode of a file", ErrMalformed, f.Mode)
	}
	return Entry{Name: name, Mode: f.Mode, ID: m.PutBlob([]byte(f.Content))}, nil
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
