package render

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// trace is everything that a render asked of the tree, and the answers: the
// folders that it looked into, a folder before those in it. A render is a
// function of its request and of these answers, so a tree that gives the same
// ones renders the same.
type trace []folder

// folder is a folder without links on the way, "." for the root.
type folder struct {
	Path string
	// ID is the folder's own: while it is the same, all below it is.
	ID source.ID
	// Names are the entries that were looked up, also those that are not there.
	Names []looked
}

// looked is an entry of a folder. Of a folder the mode alone was asked for: what
// was looked up in it stands in its own folder. An entry that is not there has
// neither mode nor ID.
type looked struct {
	Name string
	Mode source.Mode
	ID   source.ID
}

// asked remembers what is looked up in a folder.
func (t *tree) asked(dir node, name string, entry source.Entry) {
	names, ok := t.lookups[dir.path]
	if !ok {
		names = map[string]looked{}
		t.lookups[dir.path] = names
		t.folders[dir.path] = dir.entry.ID
	}
	l := looked{Name: name, Mode: entry.Mode, ID: entry.ID}
	if entry.Mode == source.ModeDir {
		l.ID = ""
	}
	names[name] = l
}

// trace returns what was asked until now.
func (t *tree) trace() trace {
	var tr trace
	for _, p := range slices.SortedFunc(maps.Keys(t.lookups), parentsFirst) {
		f := folder{Path: p, ID: t.folders[p]}
		for _, name := range slices.Sorted(maps.Keys(t.lookups[p])) {
			f.Names = append(f.Names, t.lookups[p][name])
		}
		tr = append(tr, f)
	}
	return tr
}

func parentsFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "." || b != "." && a < b:
		return -1
	}
	return 1
}

// holds asks the same of another tree. It reads only folders whose IDs differ.
// What cannot be read does not hold.
func (tr trace) holds(ctx context.Context, t source.Tree) bool {
	now := map[string]source.ID{".": t.ID} // of the folders that differ
	for _, f := range tr {
		id, differs := now[f.Path]
		if !differs || id == f.ID {
			continue
		}
		entries, err := t.Objects.Tree(ctx, id)
		if err != nil || ctx.Err() != nil {
			return false
		}
		byName := make(map[string]source.Entry, len(entries))
		for _, e := range entries {
			byName[e.Name] = e
		}
		for _, l := range f.Names {
			e := byName[l.Name]
			if e.Mode != l.Mode || e.Mode != source.ModeDir && e.ID != l.ID {
				return false
			}
			if e.Mode == source.ModeDir {
				now[path.Join(f.Path, l.Name)] = e.ID
			}
		}
	}
	return true
}
