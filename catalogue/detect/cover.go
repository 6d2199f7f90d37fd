package detect

import (
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/gopackage"
)

// The patterns that keep out what a Go program is not built from.
const (
	noTests    = "!**/*_test.go"
	noTestData = "!**/testdata/**"
	noDocs     = "!**/*.md"
)

// goInputs chooses patterns for the files that a Go program is built from.
func (d *detection) goInputs(c *candidate, files []gopackage.File) {
	g := newGoCover(d.folders, files)
	g.cover(".")
	c.inputs = append(g.patterns, g.excludes()...)
	packages := map[string]bool{}
	for _, f := range files {
		if f.Why == gopackage.Source {
			packages[f.Package] = true
		}
	}
	c.basis = "What the " + plural(len(packages), "package") + " that it is made of in this repository are built from."
	if len(packages) == 1 {
		c.basis = "What its package is built from; it imports no other one of this repository."
	}
}

// goCover finds few patterns that choose what is read and little else.
type goCover struct {
	*folders
	read    map[string]gopackage.Why
	touched map[string]bool // the folders below which something is read
	kinds   []kind          // of files that can be kept out
	known   map[string]tally

	patterns []string
	whole    []string // the folders that a pattern names as a whole
}

// kind is a kind of files that can be kept out by a pattern.
type kind struct {
	pattern string
	is      func(name string) bool
	always  bool // whether there are some or not: there will be
}

func newGoCover(all *folders, files []gopackage.File) *goCover {
	g := &goCover{folders: all, read: map[string]gopackage.Why{}, touched: map[string]bool{".": true}, known: map[string]tally{}}
	for _, f := range files {
		g.read[f.Path] = f.Why
		mark(g.touched, f.Path)
	}
	for _, k := range []kind{
		{noTests, func(name string) bool { return strings.HasSuffix(name, "_test.go") }, true},
		{noTestData, inTestData, false},
		{noDocs, func(name string) bool { return strings.HasSuffix(name, ".md") }, false},
	} {
		// What is read of a kind would be kept out too.
		if !slices.ContainsFunc(files, func(f gopackage.File) bool { return k.is(f.Path) }) {
			g.kinds = append(g.kinds, k)
		}
	}
	return g
}

func inTestData(name string) bool {
	return strings.HasPrefix(name, "testdata/") || strings.Contains(name, "/testdata/")
}

// tally is what lies below a folder.
type tally struct {
	all, embedded   int
	readGo, otherGo int // Go files; the others are not read
	stranger        int // files that are neither read nor Go nor kept out
}

func (g *goCover) tally(dir string) tally {
	if t, ok := g.known[dir]; ok {
		return t
	}
	var t tally
	for _, name := range g.files[dir] {
		t.all++
		why, read := g.read[name]
		isGo := strings.HasSuffix(name, ".go")
		switch {
		case read && (why == gopackage.Embedded || why == gopackage.Asset):
			t.embedded++
		case read && isGo:
			t.readGo++
		case read || slices.ContainsFunc(g.kinds, func(k kind) bool { return k.is(name) }):
		case isGo:
			t.otherGo++
		default:
			t.stranger++
		}
	}
	for _, sub := range g.subs[dir] {
		s := g.tally(sub)
		t.all += s.all
		t.embedded += s.embedded
		t.readGo += s.readGo
		t.otherGo += s.otherGo
		t.stranger += s.stranger
	}
	g.known[dir] = t
	return t
}

// cover chooses patterns for a folder of which something is read.
func (g *goCover) cover(dir string) {
	if dir != "." && g.takeWhole(dir) {
		g.patterns = append(g.patterns, literal(dir))
		g.whole = append(g.whole, dir)
		return
	}
	sources := false
	for _, name := range g.files[dir] {
		why, read := g.read[name]
		switch {
		case !read:
		case why == gopackage.Source && strings.HasSuffix(name, ".go"):
			sources = true
		default:
			g.patterns = append(g.patterns, literal(name))
		}
	}
	if sources {
		pattern := "*.go"
		if dir != "." {
			pattern = literal(dir) + "/*.go"
		}
		g.patterns = append(g.patterns, pattern)
	}
	for _, sub := range g.subs[dir] {
		if g.touched[sub] {
			g.cover(sub)
		}
	}
}

// takeWhole says whether a pattern may name the folder: all of it is embedded, or
// it holds a package, and what is not read of it would be kept out or is Go code
// of the same kind.
func (g *goCover) takeWhole(dir string) bool {
	if path.Base(dir) == "vendor" {
		return true
	}
	t := g.tally(dir)
	if t.embedded == t.all {
		return true
	}
	packaged := slices.ContainsFunc(g.files[dir], func(name string) bool { return g.read[name] == gopackage.Source })
	return packaged && t.stranger == 0 && t.otherGo <= t.readGo
}

// excludes are the patterns that keep out what the chosen folders hold beside
// what is read.
func (g *goCover) excludes() []string {
	var list []string
	for _, k := range g.kinds {
		if k.always || slices.ContainsFunc(g.whole, func(dir string) bool { return g.holds(dir, k.is) }) {
			list = append(list, k.pattern)
		}
	}
	return list
}
