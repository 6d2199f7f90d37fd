package catalogue

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Toolchain is the Go toolchain that a recipe and its inputs declare.
type Toolchain struct {
	// Name is "go1.26.8".
	Name string
	// Pinned says that the toolchain is named as such. If not, Name follows
	// from a go line, which says only which is the oldest that will do.
	Pinned bool
	// From says what declares it: "pharos.yaml", or the path of a go.mod or
	// go.work.
	From string
}

// GoToolchain returns the toolchain that a Go package is to be built with: that
// of the recipe, else of the toolchain line, else of the go line of the file
// that governs the package in its inputs. That is the nearest go.mod at or above
// the package; or, as for the Go command (https://go.dev/doc/toolchain), the
// nearest go.work at or above that, if it uses the module: then the lines of
// go.mod do not count. GOWORK=off in the recipe's Env leaves go.work out. The
// error is an *InputError if the inputs have no go.mod for the package, or if
// the file that counts is none, is a symbolic link, or declares no toolchain.
func GoToolchain(ctx context.Context, b GoBuild, inputs source.Tree) (Toolchain, error) {
	return new(modules).toolchain(ctx, b, inputs)
}

// modules are the go.mod and go.work of one tree that were parsed: most images
// have the same ones.
type modules struct {
	mods  memo[goFile, Toolchain]
	works memo[goFile, *modfile.WorkFile]
}

// goFile is a go.mod or go.work of a tree.
type goFile struct {
	path string
	id   source.ID
	mode source.Mode
}

func (m *modules) toolchain(ctx context.Context, b GoBuild, inputs source.Tree) (Toolchain, error) {
	module, err := findModule(ctx, inputs, b.Package)
	if err != nil {
		return Toolchain{}, err
	}
	if b.Toolchain != "" {
		return Toolchain{Name: b.Toolchain, Pinned: true, From: FileName}, nil
	}
	if err := module.findWork(ctx, inputs, b.Env, m); err != nil {
		return Toolchain{}, err
	}
	if module.work != "" {
		return declared(module.work, module.workFile.Go, module.workFile.Syntax)
	}
	return m.mods.get(module.mod, func() (Toolchain, error) { return declaredByMod(ctx, inputs, module.mod) })
}

func declaredByMod(ctx context.Context, inputs source.Tree, mod goFile) (Toolchain, error) {
	data, err := mod.read(ctx, inputs)
	if err != nil {
		return Toolchain{}, err
	}
	// Lax, since newer versions of Go add directives; it leaves the toolchain
	// line out, which matters in the main module only.
	parsed, err := modfile.ParseLax(mod.path, data, nil)
	if err != nil {
		return Toolchain{}, &InputError{Path: mod.path, Reason: "is not a go.mod: " + err.Error()}
	}
	return declared(mod.path, parsed.Go, parsed.Syntax)
}

// declared returns the toolchain that the lines of a go.mod or go.work declare.
func declared(file string, goLine *modfile.Go, syntax *modfile.FileSyntax) (Toolchain, error) {
	for _, stmt := range syntax.Stmt {
		line, ok := stmt.(*modfile.Line)
		if ok && len(line.Token) == 2 && line.Token[0] == "toolchain" && line.Token[1] != "default" {
			return Toolchain{Name: line.Token[1], Pinned: true, From: file}, nil
		}
	}
	if goLine == nil {
		return Toolchain{}, &InputError{Path: file, Reason: "has neither a toolchain nor a go line: add one, or set build.go.toolchain in " + FileName}
	}
	return Toolchain{Name: "go" + goLine.Version, From: file}, nil
}

// goModule says which files of a tree govern a Go package.
type goModule struct {
	mod      goFile
	work     string // the path of the go.work that uses the module; may be empty
	workFile *modfile.WorkFile
}

// sums are the paths of the files with the checksums of what the module needs,
// which may not be there.
func (m *goModule) sums() []string {
	sums := []string{path.Join(path.Dir(m.mod.path), "go.sum")}
	if m.work != "" {
		sums = append(sums, m.work+".sum")
	}
	return sums
}

// requires says whether the go.mod names modules that are not folders of the
// tree.
func (m *goModule) requires(ctx context.Context, tree source.Tree) (bool, error) {
	data, err := m.mod.read(ctx, tree)
	if err != nil {
		return false, err
	}
	file, err := modfile.Parse(m.mod.path, data, nil)
	if err != nil {
		// Newer versions of Go add directives.
		if file, err = modfile.ParseLax(m.mod.path, data, nil); err != nil {
			return false, &InputError{Path: m.mod.path, Reason: "is not a go.mod: " + err.Error()}
		}
	}
	local := func(r *modfile.Require) bool {
		return slices.ContainsFunc(file.Replace, func(by *modfile.Replace) bool {
			return by.Old.Path == r.Mod.Path && (by.Old.Version == "" || by.Old.Version == r.Mod.Version) && by.New.Version == ""
		})
	}
	return slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return !local(r) }), nil
}

// findModule finds the go.mod that governs a Go package.
func findModule(ctx context.Context, tree source.Tree, pkg string) (*goModule, error) {
	pkg = cleanPath(pkg)
	mod, err := above(ctx, tree, pkg, "go.mod")
	if err == nil && mod.path == "" {
		err = &InputError{Path: pkg, Reason: "is a Go package without a go.mod above it among the inputs: add go.mod and go.sum to them"}
	}
	return &goModule{mod: mod}, err
}

// findWork finds the go.work that governs the module, if there is one.
func (m *goModule) findWork(ctx context.Context, tree source.Tree, env map[string]string, known *modules) error {
	if env["GOWORK"] == "off" {
		return nil
	}
	work, err := above(ctx, tree, path.Dir(m.mod.path), "go.work")
	if err != nil || work.path == "" {
		return err
	}
	file, err := known.works.get(work, func() (*modfile.WorkFile, error) { return parseWork(ctx, tree, work) })
	if err != nil {
		return err
	}
	if slices.ContainsFunc(file.Use, func(u *modfile.Use) bool {
		return !path.IsAbs(u.Path) && path.Join(path.Dir(work.path), u.Path) == path.Dir(m.mod.path)
	}) {
		m.work, m.workFile = work.path, file
	}
	return nil
}

func parseWork(ctx context.Context, tree source.Tree, work goFile) (*modfile.WorkFile, error) {
	data, err := work.read(ctx, tree)
	if err != nil {
		return nil, err
	}
	file, err := modfile.ParseWork(work.path, data, nil)
	if err != nil {
		return nil, &InputError{Path: work.path, Reason: "is not a go.work: " + err.Error()}
	}
	return file, nil
}

// above finds the nearest file of that name in a folder or above it; the zero
// goFile if there is none.
func above(ctx context.Context, tree source.Tree, dir, name string) (nearest goFile, err error) {
	at, id, rest := ".", tree.ID, dir
	for {
		entries, err := tree.Objects.Tree(ctx, id)
		if err != nil {
			return goFile{}, fmt.Errorf("look for %s: %w", path.Join(at, name), err)
		}
		if e := named(entries, name); e.Mode != 0 {
			nearest = goFile{path.Join(at, name), e.ID, e.Mode}
		}
		var next string
		next, rest, _ = strings.Cut(rest, "/")
		e := named(entries, next) // no entry has the name "" or "."
		if e.Mode != source.ModeDir {
			return nearest, nil
		}
		at, id = path.Join(at, next), e.ID
	}
}

func (f goFile) read(ctx context.Context, tree source.Tree) ([]byte, error) {
	if f.mode == source.ModeSymlink {
		return nil, &InputError{Path: f.path, Reason: "is a symbolic link, which is not followed to find the toolchain: replace it by the file itself"}
	}
	return tree.ReadFile(ctx, f.path)
}
