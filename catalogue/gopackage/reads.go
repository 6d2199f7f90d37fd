package gopackage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// Recipe is one program to look at.
type Recipe struct {
	Build catalogue.GoBuild
	// Platforms are the platforms that it is built for, such as "linux/arm64".
	Platforms []string
}

// Reads are the files of a tree that a program is built from.
type Reads struct {
	// Files are sorted by path; each stands once.
	Files []File
	// Problems are what keeps the program from being built from the tree, or
	// its files from being known. They are sorted; each stands once.
	Problems []Problem
}

// File is a file of a tree and why it is read.
type File struct {
	Path string // from the root of the tree
	Why  Why
	// Package is the import path of the package that it belongs to, or that
	// embeds it. It is empty for module files and assets.
	Package string
}

// Why says what a file is read for.
type Why string

// The values of Why.
const (
	Source   Why = "source"   // it is compiled, or linked, into the program
	Embedded Why = "embedded" // a package embeds it
	Profile  Why = "profile"  // it is the main package's default.pgo
	Module   Why = "module"   // it says which modules there are: go.mod, go.sum, go.work, vendor/modules.txt
	Asset    Why = "asset"    // the recipe puts it beside the program
	Link     Why = "link"     // it is a symbolic link on the way to another file
)

// Problem is what a tree is the cause of, mostly in the go command's words.
type Problem struct {
	// At is a path of the tree, with line and column where they are known:
	// "services/api/main.go:4:2". It may be empty.
	At      string
	Message string
	// Recipe says that the recipe has to be corrected before what it reads means
	// anything. Then the message says where.
	Recipe bool
}

func (p Problem) String() string {
	if p.At == "" || p.Recipe {
		return p.Message
	}
	return p.At + ": " + p.Message
}

// Reads says what each of the recipes reads of the tree, in their order. When ctx
// ends, the error matches ctx's; other errors are those of the tree's objects and
// of the file system.
func (f *Folder) Reads(ctx context.Context, recipes []Recipe) ([]Reads, error) {
	all := make([]reading, len(recipes))
	runs, err := f.plan(ctx, recipes, all)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if err := f.list(ctx, run, all); err != nil {
			return nil, err
		}
	}
	reads := make([]Reads, len(recipes))
	for i := range all {
		for _, asset := range recipes[i].Build.Assets {
			if err := f.asset(ctx, &all[i], path.Clean(asset)); err != nil {
				return nil, err
			}
		}
		reads[i] = all[i].result()
	}
	return reads, nil
}

// reading is what is known so far of what a recipe reads.
type reading struct {
	files    map[string]File
	problems []Problem
}

func (r *reading) add(f File) {
	if r.files == nil {
		r.files = map[string]File{}
	}
	// A source file can be embedded as well: that it is compiled says more.
	if known, ok := r.files[f.Path]; !ok || known.Why == Embedded && f.Why == Source {
		r.files[f.Path] = f
	}
}

func (r *reading) problem(p Problem) { r.problems = append(r.problems, p) }

func (r *reading) result() Reads {
	reads := Reads{Files: make([]File, 0, len(r.files)), Problems: r.problems}
	for _, f := range r.files {
		reads.Files = append(reads.Files, f)
	}
	slices.SortFunc(reads.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(reads.Problems, func(a, b Problem) int { return cmp.Compare(a.String(), b.String()) })
	reads.Problems = slices.Compact(reads.Problems)
	return reads
}

// asset adds a file or folder that is put beside the program.
func (f *Folder) asset(ctx context.Context, r *reading, name string) error {
	entry, err := f.tree.Lookup(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		r.problem(Problem{At: name, Message: "is an asset, and the tree has no such file or folder"})
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up asset: %w", err)
	}
	if entry.Mode != source.ModeDir {
		r.add(File{Path: name, Why: Asset})
		return nil
	}
	below := source.Tree{ID: entry.ID, Objects: f.tree.Objects}
	return below.Walk(ctx, func(at string, e source.Entry) error {
		if e.Mode != source.ModeDir {
			r.add(File{Path: path.Join(name, at), Why: Asset})
		}
		return nil
	})
}

// clean is the form of a folder that the tree's paths have.
func clean(pkg string) string { return path.Clean(strings.TrimSuffix(pkg, "/")) }
