package detect

import (
	"path"
	"slices"
)

// folders are the files and folders of a tree by the folder that holds them,
// sorted; "." is the root.
type folders struct {
	files, subs map[string][]string
}

func newFolders(files []string) *folders {
	f := &folders{files: map[string][]string{}, subs: map[string][]string{}}
	known := map[string]bool{".": true}
	for _, name := range files {
		dir := path.Dir(name)
		f.files[dir] = append(f.files[dir], name)
		for ; !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			f.subs[path.Dir(dir)] = append(f.subs[path.Dir(dir)], dir)
		}
	}
	for _, subs := range f.subs {
		slices.Sort(subs)
	}
	return f
}

// holds says whether there is such a file in a folder or below it.
func (f *folders) holds(dir string, is func(name string) bool) bool {
	return slices.ContainsFunc(f.files[dir], is) ||
		slices.ContainsFunc(f.subs[dir], func(sub string) bool { return f.holds(sub, is) })
}
