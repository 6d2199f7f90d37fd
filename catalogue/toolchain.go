package catalogue

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

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
	module, err := findModule(ctx, inputs, b.Package)
	if err != nil {
		return Toolchain{}, err
	}
	if b.Toolchain != "" {
		return Toolchain{Name: b.Toolchain, Pinned: true, From: FileName}, nil
	}
	if err := module.findWork(ctx, inputs, b.Env); err != nil {
		return Toolchain{}, err
	}
	if module.work != "" {
		return declared(module.work, module.workFile.Go, module.workFile.Syntax)
	}
	data, err := readGoFile(ctx, inputs, module.mod, module.modMode)
	if err != nil {
		return Toolchain{}, err
	}
	// Lax, since newer versions of Go add directives; it leaves the toolchain
	// line out, which matters in the main module only.
	parsed, err := modfile.ParseLax(module.mod, data, nil)
	if err != nil {
		return Toolchain{}, &InputError{Path: module.mod, Reason: "is not a go.mod: " + err.Error()}
	}
	return declared(module.mod, parsed.Go, parsed.Syntax)
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
	mod      string // the path of its go.mod
	modMode  source.Mode
	work     string // the path of the go.work that uses the module; may be empty
	workFile *modfile.WorkFile
}

// sums are the paths of the files with the checksums of what the module needs,
// which may not be there.
func (m *goModule) sums() []string {
	sums := []string{path.Join(path.Dir(m.mod), "go.sum")}
	if m.work != "" {
		sums = append(sums, m.work+".sum")
	}
	return sums
}

// requires says whether the go.mod names modules that are not folders of the
// tree.
func (m *goModule) requires(ctx context.Context, tree source.Tree) (bool, error) {
	data, err := readGoFile(ctx, tree, m.mod, m.modMode)
	if err != nil {
		return false, err
	}
	file, err := modfile.Parse(m.mod, data, nil)
	if err != nil {
		// Newer versions of Go add directives.
		if file, err = modfile.ParseLax(m.mod, data, nil); err != nil {
			return false, &InputError{Path: m.mod, Reason: "is not a go.mod: " + err.Error()}
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
	mod, mode, err := above(ctx, tree, pkg, "go.mod")
	if err == nil && mod == "" {
		err = &InputError{Path: pkg, Reason: "is a Go package without a go.mod above it among the inputs: add go.mod and go.sum to them"}
	}
	return &goModule{mod: mod, modMode: mode}, err
}

// findWork finds the go.work that governs the module, if there is one.
func (m *goModule) findWork(ctx context.Context, tree source.Tree, env map[string]string) error {
	if env["GOWORK"] == "off" {
		return nil
	}
	work, mode, err := above(ctx, tree, path.Dir(m.mod), "go.work")
	if err != nil || work == "" {
		return err
	}
	data, err := readGoFile(ctx, tree, work, mode)
	if err != nil {
		return err
	}
	file, err := modfile.ParseWork(work, data, nil)
	if err != nil {
		return &InputError{Path: work, Reason: "is not a go.work: " + err.Error()}
	}
	if slices.ContainsFunc(file.Use, func(u *modfile.Use) bool {
		return !path.IsAbs(u.Path) && path.Join(path.Dir(work), u.Path) == path.Dir(m.mod)
	}) {
		m.work, m.workFile = work, file
	}
	return nil
}

// above finds the nearest file of that name in a folder or above it; "" if there
// is none. It asks for the path before the content, so that a file that cannot be
// read is not taken for one that is not there.
func above(ctx context.Context, tree source.Tree, dir, name string) (file string, mode source.Mode, err error) {
	for at := dir; ; at = path.Dir(at) {
		file = path.Join(at, name)
		entry, err := tree.Lookup(ctx, file)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, entry.Mode, err
		}
		if at == "." || at == "/" || at == ".." {
			return "", 0, nil
		}
	}
}

func readGoFile(ctx context.Context, tree source.Tree, file string, mode source.Mode) ([]byte, error) {
	if mode == source.ModeSymlink {
		return nil, &InputError{Path: file, Reason: "is a symbolic link, which is not followed to find the toolchain: replace it by the file itself"}
	}
	return tree.ReadFile(ctx, file)
}
