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
		k.add(catalogue.Finding{Message: fmt.Sprintf("its inputs cannot be compared with what its package reads: %v", p.noGo)})
		return
	}
	reads := p.reads[k.image.Name]
	for _, problem := range reads.Problems {
		k.add(catalogue.Finding{Path: problem.At, Message: "its package does not load: " + problem.String()})
	}
	k.packages(reads)
	read := map[string]bool{}
	var all, left []string
	for _, f := range reads.Files {
		all, read[f.Path] = append(all, f.Path), true
		if !k.image.Inputs.Match(f.Path) && f.Why != gopackage.Source {
			left = append(left, f.Path)
		}
	}
	byPath := func(name string) gopackage.File {
		i, _ := slices.BinarySearchFunc(reads.Files, name, func(f gopackage.File, name string) int { return strings.Compare(f.Path, name) })
		return reads.Files[i]
	}
	for _, group := range k.cover(left, read) {
		k.leftOut(group, role(byPath(group.files[0])))
	}
	if len(reads.Problems) == 0 {
		k.unread(all, "its package "+k.image.Build.Go.Package)
	}
}

// packages finds the source files that are left out, of a whole package at once
// if all of them are.
func (k *check) packages(reads gopackage.Reads) {
	left, declared := map[string][]string{}, map[string]bool{}
	names := map[string]string{}
	var order []string
	for _, f := range reads.Files {
		if f.Why != gopackage.Source {
			continue
		}
		dir := path.Dir(f.Path)
		names[dir] = f.Package
		if k.image.Inputs.Match(f.Path) {
			declared[dir] = true
			continue
		}
		if left[dir] == nil {
			order = append(order, dir)
		}
		left[dir] = append(left[dir], f.Path)
	}
	for _, dir := range order {
		if declared[dir] {
			for _, file := range left[dir] {
				k.leftOut(cover{pattern: Literal(file), files: []string{file}}, "belongs to package "+names[dir]+", which would be built without it")
			}
			continue
		}
		pattern := Literal(dir)
		if dir == "." {
			pattern = "*.go"
		}
		k.leftOut(cover{dir: dir, pattern: pattern, files: left[dir]}, "is package "+names[dir]+", which the program needs")
	}
}

// role says what a file is read for.
func role(f gopackage.File) string {
	switch f.Why {
	case gopackage.Embedded:
		return "is embedded by package " + f.Package + ", which would be built without it"
	case gopackage.Profile:
		return "is the profile that the program is optimised by, and it would be built without"
	case gopackage.Asset:
		return "is an asset of the image"
	case gopackage.Link:
		return "is a symbolic link that leads to package " + f.Package
	}
	return "says what belongs to the module"
}
