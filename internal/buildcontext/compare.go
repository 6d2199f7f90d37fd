package buildcontext

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
)

// comparison is where the sources of a Dockerfile lie.
type comparison struct {
	sources     []dockerfile.Source
	there, both []dockerfile.Source // in the folder only; at the root as well
	moved       int                 // how many lie in the folder only
	rooted      bool                // some lie at the root only
	whole       bool                // all of the context is taken
}

func compare(root, there *looked) *comparison {
	c := &comparison{sources: root.sources}
	for _, s := range root.sources {
		switch atRoot, inDir := !root.missing[s], !there.missing[s]; {
		case atRoot && inDir:
			c.both = append(c.both, s)
			c.whole = c.whole || whole(s)
		case atRoot:
			c.rooted = true
		case inDir:
			c.there = append(c.there, s)
			c.moved++
		}
	}
	return c
}

// why says by what the folder is known to be the context; "" if it is not.
func (f *Finder) why(file, dir string, content []byte, c *comparison) string {
	if i := slices.IndexFunc(f.contexts[file], func(c said) bool { return c.dir == dir }); i >= 0 && len(c.there)+len(c.both) > 0 {
		return f.contexts[file][i].from + " builds it so"
	}
	if len(c.there) > 0 {
		return c.there[0].Path + " lies there, and not at the root"
	}
	if len(c.both) == 0 || c.rooted && !c.whole {
		return ""
	}
	if ignore := path.Join(dir, ".dockerignore"); f.files[ignore] {
		return ignore + " lies there, which is read by builds in that folder only"
	}
	if !c.whole || c.rooted || mentions(content, dir) {
		return ""
	}
	for _, name := range []string{"package.json", "go.mod", "requirements.txt", "pyproject.toml"} {
		if f.files[path.Join(dir, name)] && !f.files[name] {
			return name + " lies there, and not at the root"
		}
	}
	return ""
}

// mentions says whether an instruction names the folder, or something in it, by a
// path from the root of the context.
func mentions(content []byte, dir string) bool {
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"',;&|()[]=", r) }) {
			if word = strings.TrimPrefix(word, "./"); word == dir || strings.HasPrefix(word, dir+"/") {
				return true
			}
		}
	}
	return false
}

// changes are what to write for what lies in the folder.
func (c *comparison) changes(dir string) []Change {
	var all []Change
	for _, s := range c.sources {
		both := slices.Contains(c.both, s)
		if !both && !slices.Contains(c.there, s) {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Line != s.Line {
			all = append(all, Change{Line: s.Line})
		}
		at := &all[len(all)-1]
		from := shown(s)
		at.From, at.To = append(at.From, from), append(at.To, inside(dir, from))
		if both && !whole(s) {
			at.Both = append(at.Both, from)
		}
	}
	return all
}

// shown is a source as a person writes it.
func shown(s dockerfile.Source) string { return cmp.Or(s.Path, ".") }

// inside is a source in a folder. It keeps the slash at its end, and the "/./"
// behind which the path in the image begins.
func inside(dir, from string) string {
	clean := strings.TrimLeft(from, "/")
	for strings.HasPrefix(clean, "./") {
		clean = strings.TrimLeft(clean[2:], "/")
	}
	if clean == "" || clean == "." {
		return dir
	}
	return dir + "/" + clean
}

// Vain returns the sources without which a build goes on, of lines of which it
// takes nothing else: "COPY package.json yarn.lock* ./" is meant so, and
// "COPY web-*.txt ./" is not.
func Vain(plan *dockerfile.Plan, missing []dockerfile.Source) []dockerfile.Source {
	taken := map[int]int{} // by line
	for _, s := range plan.Sources() {
		taken[s.Line]++
	}
	for _, s := range missing {
		taken[s.Line]--
	}
	return slices.DeleteFunc(slices.Clone(missing), func(s dockerfile.Source) bool { return !s.Optional || taken[s.Line] > 0 })
}
