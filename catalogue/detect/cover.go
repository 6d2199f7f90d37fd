package detect

import (
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/inputs"
)

// The patterns that keep out what a Go program is not built from.
const (
	noTests    = "!**/*_test.go"
	noTestData = "!**/testdata/**"
	noDocs     = "!**/*.md"
)

// goInputs chooses patterns for the files that a Go program is built from.
func (d *detection) goInputs(c *candidate, files []gopackage.File) {
	g := &goCover{read: map[string]gopackage.Why{}, direct: map[string][]string{}, dirs: map[string][]string{}, tally: map[string]*tally{}}
	packages := map[string]bool{}
	for _, f := range files {
		g.read[f.Path] = f.Why
		if f.Why == gopackage.Source {
			packages[f.Package] = true
		}
	}
	g.count(d.files)
	g.cover(".")
	c.inputs = g.patterns
	if len(g.whole) > 0 {
		c.inputs = append(c.inputs, g.excludes(d.files)...)
	}
	c.basis = "What the " + plural(len(packages), "package") + " that it is made of in this repository are built from."
	if len(packages) == 1 {
		c.basis = "What its package is built from; it imports no other one of this repository."
	}
}

// goCover finds few patterns that choose what is read and little else.
type goCover struct {
	read   map[string]gopackage.Why
	direct map[string][]string // files by folder
	dirs   map[string][]string // folders by folder
	tally  map[string]*tally   // by folder

	patterns []string
	whole    []string // the folders that a pattern names as a whole
}

// tally is what lies below a folder.
type tally struct {
	read, readGo, embedded int
	otherGo                int // Go files that are not read, tests left out
	stranger               int // other files that are not read, and not excluded anyway
	all                    int
}

func (g *goCover) count(files []string) {
	var tests, testdata, docs bool // among what is read
	for name := range g.read {
		tests = tests || strings.HasSuffix(name, "_test.go")
		testdata = testdata || inTestData(name)
		docs = docs || strings.HasSuffix(name, ".md")
	}
	for _, name := range files {
		g.direct[path.Dir(name)] = append(g.direct[path.Dir(name)], name)
		why, read := g.read[name]
		excluded := !tests && strings.HasSuffix(name, "_test.go") || !testdata && inTestData(name) || !docs && strings.HasSuffix(name, ".md")
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			t := g.tally[dir]
			if t == nil {
				t = &tally{}
				g.tally[dir] = t
				if dir != "." {
					g.dirs[path.Dir(dir)] = append(g.dirs[path.Dir(dir)], dir)
				}
			}
			t.all++
			switch {
			case read:
				t.read++
				if why == gopackage.Embedded || why == gopackage.Asset {
					t.embedded++
				}
				if strings.HasSuffix(name, ".go") {
					t.readGo++
				}
			case excluded:
			case strings.HasSuffix(name, ".go"):
				t.otherGo++
			default:
				t.stranger++
			}
			if dir == "." {
				break
			}
		}
	}
}

func inTestData(name string) bool {
	return strings.HasPrefix(name, "testdata/") || strings.Contains(name, "/testdata/")
}

// cover chooses patterns for a folder of which something is read.
func (g *goCover) cover(dir string) {
	t := g.tally[dir]
	if dir != "." && g.takeWhole(dir, t) {
		g.patterns = append(g.patterns, inputs.Literal(dir))
		g.whole = append(g.whole, dir)
		return
	}
	sources := false
	for _, name := range g.direct[dir] {
		why, read := g.read[name]
		switch {
		case !read:
		case why == gopackage.Source && strings.HasSuffix(name, ".go"):
			sources = true
		default:
			g.patterns = append(g.patterns, inputs.Literal(name))
		}
	}
	if sources {
		pattern := "*.go"
		if dir != "." {
			pattern = inputs.Literal(dir) + "/*.go"
		}
		g.patterns = append(g.patterns, pattern)
		g.whole = append(g.whole, dir)
	}
	for _, sub := range g.dirs[dir] {
		if g.tally[sub].read > 0 {
			g.cover(sub)
		}
	}
}

// takeWhole says whether a pattern may name the folder: all of it is embedded, or
// it holds a package, and what is not read of it would be excluded or is Go code
// of the same kind.
func (g *goCover) takeWhole(dir string, t *tally) bool {
	if path.Base(dir) == "vendor" {
		return true
	}
	if t.embedded == t.all {
		return true
	}
	packaged := slices.ContainsFunc(g.direct[dir], func(name string) bool { return g.read[name] == gopackage.Source })
	return packaged && t.stranger == 0 && t.otherGo <= t.readGo
}

// excludes are the patterns that keep out what the chosen folders hold beside
// what is read.
func (g *goCover) excludes(files []string) []string {
	unread := func(match func(string) bool) (found, read bool) {
		for _, name := range files {
			if !match(name) {
				continue
			}
			if _, ok := g.read[name]; ok {
				read = true
			}
			found = found || slices.ContainsFunc(g.whole, func(dir string) bool { return below(name, dir) })
		}
		return found, read
	}
	var list []string
	if _, read := unread(func(name string) bool { return strings.HasSuffix(name, "_test.go") }); !read {
		list = append(list, noTests)
	}
	if found, read := unread(inTestData); found && !read {
		list = append(list, noTestData)
	}
	if found, read := unread(func(name string) bool { return strings.HasSuffix(name, ".md") }); found && !read {
		list = append(list, noDocs)
	}
	return list
}
