package gopackage

import (
	"path"
	"strings"
)

// maxLinks is how many links are followed for one path.
const maxLinks = 40

// follow calls found for every link on the way of a path, and returns the path
// without links.
func (f *Folder) follow(name string, found func(link string)) string {
	if len(f.links) == 0 {
		return name
	}
	for range maxLinks {
		link := ""
		for at := range ancestors(name) {
			if _, ok := f.links[at]; ok {
				link = at
				break
			}
		}
		if link == "" {
			break
		}
		found(link)
		name = path.Join(path.Dir(link), f.links[link], strings.TrimPrefix(name, link))
	}
	return name
}

// ancestors yields the directories on the way to a path, and the path.
func ancestors(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
		yield(name)
	}
}
