package inputs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
)

func (k *check) goImage(p programs) {
	if p.noGo != nil {
		return
	}
	reads := p.reads[k.image.Name]
	wrong := false
	for _, problem := range reads.Problems {
		if problem.Recipe {
			wrong = true
			k.add(catalogue.Finding{Path: problem.At, Message: problem.Message})
		}
	}
	if wrong {
		return
	}
	const most = 10
	for i, problem := range reads.Problems {
		if i == most {
			k.add(catalogue.Finding{Message: fmt.Sprintf("its package does not load for %d more reasons", len(reads.Problems)-most)})
			break
		}
		k.add(catalogue.Finding{Path: problem.At, Message: "its package does not load: " + problem.String()})
	}
	read := map[string]bool{}
	var all []string
	for _, f := range reads.Files {
		all, read[f.Path] = append(all, f.Path), true
	}
	covered := k.packages(reads.Files)
	var left []string
	for _, f := range reads.Files {
		if !k.image.Inputs.Match(f.Path) && f.Why != gopackage.Source && (f.Why != gopackage.Embedded || !covered[f.Package]) {
			left = append(left, f.Path)
		}
	}
	byPath := func(name string) gopackage.File {
		i, _ := slices.BinarySearchFunc(reads.Files, name, func(f gopackage.File, name string) int { return strings.Compare(f.Path, name) })
		return reads.Files[i]
	}
	for _, group := range k.cover(left, read, nil) {
		k.leftOut(group, role(byPath(group.files[0])))
	}
	if len(reads.Problems) == 0 {
		k.unread(all, "its package "+k.image.Build.Go.Package)
	}
}

// packages finds the source files that are left out. Where none of a package's is
// an input, its folder is what to add, which covers what it embeds: such packages
// are returned.
func (k *check) packages(files []gopackage.File) (covered map[string]bool) {
	left, declared := map[string][]string{}, map[string]bool{}
	covered = map[string]bool{}
	var order []string // of packages
	dirs := map[string]string{}
	for _, f := range files {
		switch {
		case f.Package == "" || f.Why == gopackage.Link:
			continue
		case k.image.Inputs.Match(f.Path):
			declared[f.Package] = declared[f.Package] || f.Why == gopackage.Source
			continue
		case left[f.Package] == nil:
			order = append(order, f.Package)
		}
		if f.Why == gopackage.Source {
			dirs[f.Package] = path.Dir(f.Path)
		}
		left[f.Package] = append(left[f.Package], f.Path)
	}
	for _, pkg := range order {
		dir, sources := dirs[pkg]
		if sources && !declared[pkg] && dir != "." {
			covered[pkg] = true
			k.leftOut(cover{dir: dir, pattern: Literal(dir), files: left[pkg]}, "is package "+pkg+", which the program needs")
		}
	}
	for _, f := range files {
		if f.Why == gopackage.Source && !covered[f.Package] && !k.image.Inputs.Match(f.Path) {
			k.leftOut(cover{pattern: Literal(f.Path), files: []string{f.Path}}, "belongs to package "+f.Package+", which would be built without it")
		}
	}
	return covered
}

// role says what a file is read for.
func role(f gopackage.File) string {
	switch f.Why {
	case gopackage.Embedded:
		return "is embedded by package " + f.Package + ", which would be built without it, or not at all"
	case gopackage.Profile:
		return "is the profile that the program is optimised by, and it would be built without"
	case gopackage.Asset:
		return "is an asset of the image"
	case gopackage.Link:
		return "is a symbolic link that leads to package " + f.Package
	}
	return "says what belongs to the module"
}
