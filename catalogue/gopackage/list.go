package gopackage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/pharos-dev/pharos/internal/gocommand"
)

const listFields = "Dir,ImportPath,Name,Standard,Deps,Error," + sourceFields + ",EmbedFiles"

const sourceFields = "GoFiles,CgoFiles,InvalidGoFiles,CFiles,CXXFiles,MFiles,HFiles,FFiles,SFiles,SwigFiles,SwigCXXFiles,SysoFiles"

// listed is a package as "go list" prints it. Paths of files are relative to Dir.
type listed struct {
	Dir, ImportPath, Name string
	Standard              bool
	Deps                  []string
	Error                 *struct {
		ImportStack []string
		Pos, Err    string
	}
	GoFiles, CgoFiles, InvalidGoFiles, CFiles, CXXFiles, MFiles, HFiles, FFiles, SFiles, SwigFiles, SwigCXXFiles, SysoFiles []string

	EmbedFiles []string
}

func (p *listed) sources() [][]string {
	return [][]string{
		p.GoFiles, p.CgoFiles, p.InvalidGoFiles, p.CFiles, p.CXXFiles, p.MFiles, p.HFiles, p.FFiles, p.SFiles,
		p.SwigFiles, p.SwigCXXFiles, p.SysoFiles,
	}
}

// list runs the go command and adds what it says to what the recipes read.
func (f *Folder) list(ctx context.Context, r *run, all []reading) error {
	args, err := r.arguments(f)
	if err != nil {
		return err
	}
	packages, problem, err := f.goList(ctx, r.module.dir, r.settings, args)
	if err != nil {
		return err
	}
	byPath, byDir := map[string]*listed{}, map[string]*listed{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
		if dir, ok := f.inTree(p.Dir); ok {
			byDir[dir] = p
		}
	}
	for _, w := range r.packages {
		reading := &all[w.recipe]
		if problem != "" {
			reading.problem(Problem{Message: problem})
		}
		root := byDir[f.follow(w.dir, func(string) {})]
		if root == nil {
			if problem == "" {
				reading.problem(Problem{At: w.dir, Message: "the go command finds no package here"})
			}
			continue
		}
		if root.Name != "" && root.Name != "main" {
			reading.problem(Problem{At: w.dir, Message: "build.go.package: " + w.dir + " is not a main package, so it makes no program", Recipe: true})
		}
		if err := f.listed(ctx, reading, root); err != nil {
			return err
		}
		for _, dep := range root.Deps {
			if p := byPath[dep]; p != nil {
				if err := f.listed(ctx, reading, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// goList runs "go list" in a folder of the tree. What the tree is the cause of is
// returned as a problem, together with the packages that could be listed.
func (f *Folder) goList(ctx context.Context, dir string, settings map[string]string, args []string) ([]*listed, string, error) {
	out, err := f.command.Run(ctx, f.disk(dir), settings, args...)
	problem := ""
	if failed, ok := errors.AsType[*gocommand.Error](err); ok {
		problem = f.text(failed.Error())
	} else if err != nil {
		return nil, "", err
	}
	var packages []*listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		p := &listed{}
		switch err := decoder.Decode(p); {
		case err == io.EOF:
			return packages, problem, nil
		case err != nil && problem != "":
			return packages, problem, nil // it broke off
		case err != nil:
			return nil, "", fmt.Errorf("read the answer of go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// listed adds the files of a package, if it is in the tree, and what is wrong
// with it.
func (f *Folder) listed(ctx context.Context, r *reading, p *listed) error {
	if p.Error != nil {
		r.problem(Problem{At: f.text(p.Error.Pos), Message: f.text(p.Error.Err)})
	}
	dir, ok := f.inTree(p.Dir)
	if !ok || p.Standard {
		return nil
	}
	for _, list := range p.sources() {
		for _, name := range list {
			f.file(r, path.Join(dir, name), Source, p.ImportPath)
		}
	}
	for _, name := range p.EmbedFiles {
		f.file(r, path.Join(dir, name), Embedded, p.ImportPath)
	}
	return f.assembly(ctx, r, dir, p)
}

// file adds a file, and the links on the way to it.
func (f *Folder) file(r *reading, name string, why Why, pkg string) {
	name = f.follow(name, func(link string) { r.add(File{Path: link, Why: Link, Package: pkg}) })
	r.add(File{Path: name, Why: why, Package: pkg})
}
