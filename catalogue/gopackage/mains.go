package gopackage

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/treefiles"
)

// Main is a main package of a tree.
type Main struct {
	// Package is its folder in the form of build.go.package: "./services/api",
	// or "." for the root.
	Package string
	// ImportPath is its import path.
	ImportPath string
	// Module is the folder of its module, "." for the root.
	Module string
}

// Mains finds the main packages of all modules of the tree that are built for a
// platform, sorted by folder. Modules in folders that the go command ignores
// (testdata, vendor, and those that begin with "." or "_") are left out.
// Problems are those of modules whose packages could not be listed. The error is
// as for Reads.
func (f *Folder) Mains(ctx context.Context, platform string) ([]Main, []Problem, error) {
	modules, err := f.modules(ctx)
	if err != nil {
		return nil, nil, err
	}
	settings := map[string]string{"GOWORK": "off"}
	settings["GOOS"], settings["GOARCH"], _ = strings.Cut(platform, "/")
	var mains []Main
	var problems []Problem
	for _, dir := range modules {
		// -find: what is imported does not matter yet, and need not be there.
		packages, problem, err := f.goList(ctx, dir, settings, []string{"list", "-e", "-find", "-pgo=off", "-mod=readonly", "-json=Dir,ImportPath,Name", "./..."})
		if err != nil {
			return nil, nil, err
		}
		if problem != "" {
			problems = append(problems, Problem{At: path.Join(dir, "go.mod"), Message: problem})
		}
		for _, p := range packages {
			in, ok := f.inTree(p.Dir)
			if !ok || p.Name != "main" {
				continue
			}
			pkg := "."
			if in != "." {
				pkg = "./" + in
			}
			mains = append(mains, Main{Package: pkg, ImportPath: p.ImportPath, Module: dir})
		}
	}
	slices.SortFunc(mains, func(a, b Main) int { return cmp.Compare(a.Package, b.Package) })
	return mains, problems, nil
}

// modules are the folders with a go.mod.
func (f *Folder) modules(ctx context.Context) ([]string, error) {
	files, err := treefiles.List(ctx, f.tree)
	var dirs []string
	for _, file := range files {
		if dir := path.Dir(file.Path); path.Base(file.Path) == "go.mod" && file.Mode.IsFile() && !ignored(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, err
}

// ignored says whether the go command ignores a folder.
func ignored(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if part == "testdata" || part == "vendor" || dir != "." && (part[0] == '.' || part[0] == '_') {
			return true
		}
	}
	return false
}
