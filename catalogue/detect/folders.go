package detect

import (
	"path"
	"slices"
)

// folders are the files and folders of a tree by the folder that holds them,
// sorted; "." is the root.
type folders struct {
	files, subs map[string][]string
	count       map[string]int // of the files in a folder and below it
}

func newFolders(files []string) *folders {
	f := &folders{files: map[string][]string{}, subs: map[string][]string{}, count: countAbove(files)}
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

// mixed are those folders above the files that hold others too, and the root.
func (f *folders) mixed(files []string) map[string]bool {
	mixed := map[string]bool{".": true}
	for dir, n := range countAbove(files) {
		if n < f.count[dir] {
			mixed[dir] = true
		}
	}
	return mixed
}

// countAbove counts files by the folders above them.
func countAbove(files []string) map[string]int {
	count := map[string]int{}
	for _, name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			count[dir]++
		}
	}
	return count
}
