package inputs

import (
	"fmt"
	"path"

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
	add := fmt.Sprintf("add %q to them", c.pattern)
	if excluding, ok := excludedBy(k.image.Inputs, c.files[0]); ok {
		add = fmt.Sprintf("%q excludes it: add %q behind that", excluding, c.pattern)
	}
	k.add(catalogue.Finding{Path: name, Pattern: c.pattern, Message: fmt.Sprintf("%s %s, and is not among the inputs: %s", subject, role, add)})
}

// cover finds patterns for files that are left out, in their order: for a folder
// where all files of the tree below it are read, and not more of them are inputs
// than are left out; for the files themselves elsewhere.
func (k *check) cover(left []string, read map[string]bool) []cover {
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
			if surplus[dir] >= 0 {
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
	return covers
}
