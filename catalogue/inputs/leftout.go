package inputs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// cover is a pattern that would declare files that are left out.
type cover struct {
	dir     string // what it names, if that is a folder
	pattern string
	files   []string
}

// leftOut reports files that the recipe reads and the inputs leave out.
func (k *check) leftOut(c cover, role string) {
	name, subject := c.files[0], c.files[0]
	if c.dir != "" {
		name, subject = c.dir, fmt.Sprintf("%s (%s)", c.dir, count(len(c.files)))
	}
	pattern, add := c.pattern, ""
	switch excluding, ok := excludedBy(k.image.Inputs, c.files[0]); {
	case !ok:
		add = fmt.Sprintf("add %q to them", pattern)
	case k.removable(excluding, c.files):
		pattern, add = excluding, fmt.Sprintf("remove %q, which excludes it", excluding)
	default:
		if c.dir == "" {
			pattern = Literal(c.files[0]) // what lies beside it is excluded too
		}
		add = fmt.Sprintf("%q excludes it: add %q behind that", excluding, pattern)
	}
	k.add(catalogue.Finding{Path: name, Pattern: pattern, Message: fmt.Sprintf("%s %s, and is not among the inputs: %s", subject, role, add)})
}

// removable says whether an excluding pattern names what it keeps out, and all of
// the files would be inputs without it. One with wildcards is there for files to
// come as well.
func (k *check) removable(excluding string, files []string) bool {
	list := k.image.Inputs.Strings()
	if strings.ContainsAny(excluding, "*?[") {
		return false
	}
	without, err := catalogue.ParsePatterns(slices.DeleteFunc(slices.Clone(list), func(p string) bool { return p == excluding }))
	return err == nil && !slices.ContainsFunc(files, func(name string) bool { return !without.Match(name) })
}

// cover finds patterns for files that are left out, in their order: for a folder
// where all files of the tree below it are read, and not more of them are inputs
// than are left out; for the files themselves elsewhere, and where may is given and
// says that the folder may not be named.
func (k *check) cover(left []string, read map[string]bool, may func(dir string) bool) []cover {
	if len(left) == 0 {
		return nil
	}
	mixed := map[string]bool{".": true} // folders of which not all is read
	surplus := map[string]int{}         // how many more are left out than are inputs
	for _, name := range k.paths {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			switch {
			case !read[name]:
				mixed[dir] = true
			case k.image.Inputs.Match(name):
				surplus[dir]--
			default:
				surplus[dir]++
			}
		}
	}
	var covers []cover
	for _, name := range left {
		at := ""
		for dir := path.Dir(name); !mixed[dir]; dir = path.Dir(dir) {
			if surplus[dir] >= 0 && (may == nil || may(dir)) {
				at = dir
			}
		}
		if n := len(covers); n > 0 && at != "" && covers[n-1].dir == at {
			covers[n-1].files = append(covers[n-1].files, name)
			continue
		}
		pattern := Literal(name)
		if at != "" {
			pattern = Literal(at)
		}
		covers = append(covers, cover{dir: at, pattern: pattern, files: []string{name}})
	}
	for i := range covers {
		if len(covers[i].files) == 1 {
			covers[i].dir = "" // the file says more
		}
	}
	return covers
}
