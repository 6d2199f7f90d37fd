package golang

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// module is the main module of a build and the workspace that governs it. All
// folders are paths in the tree; "." is its root.
type module struct {
	pkg  string // the main package's folder
	dir  string
	file *modfile.File
	// work is nil without a workspace.
	work    *modfile.WorkFile
	workDir string
	// locals are the modules whose code is in the tree: the main one, those of
	// the workspace, and targets of replace directives.
	locals   []localModule
	vendored bool
}

type localModule struct{ path, dir string }

type goLine struct{ file, version string }

// goLines are the least versions of Go that the build's files ask for.
func (m *module) goLines() []goLine {
	var lines []goLine
	if m.file.Go != nil {
		lines = append(lines, goLine{path.Join(m.dir, "go.mod"), m.file.Go.Version})
	}
	if m.work != nil && m.work.Go != nil {
		lines = append(lines, goLine{path.Join(m.workDir, "go.work"), m.work.Go.Version})
	}
	return lines
}

// analysis finds the module of a build and everything in its go.mod and go.work
// that leads out of the inputs.
type analysis struct {
	*build
	ctx context.Context
	problem.List
	module
	// used are the other modules of the workspace, by folder.
	used map[string]*modfile.File
	// err is a failure that the inputs did not cause.
	err error
}

// analyse reads go.mod and go.work before anything is built. What is missing
// among the inputs is read from the full tree, so that all of it shows at once.
func (b *build) analyse(ctx context.Context) (*module, error) {
	a := &analysis{build: b, ctx: ctx, List: problem.List{Image: b.request.State.Image.Name}, used: map[string]*modfile.File{}}
	if a.findPackage() && a.findModule() {
		a.findWork()
		a.checkSums()
		a.checkVendor()
		if !a.vendored {
			a.checkReplaces()
		}
		a.checkAssets()
		a.checkAssembly()
	}
	if a.err != nil {
		return nil, b.broken(a.err)
	}
	if err := a.List.Err(); err != nil {
		return nil, err
	}
	return &a.module, nil
}

func (a *analysis) findPackage() bool {
	pkg := cleanPath(a.recipe.Package)
	if leavesTree(pkg) {
		a.Add("build.go.package: %s leads out of the tree", a.recipe.Package)
		return false
	}
	a.pkg = pkg
	switch {
	case a.onDisk(pkg):
	case a.inFull(pkg):
		a.Miss(pkg, problem.Literal(pkg))
	default:
		a.Add("build.go.package: the tree has no folder %s", pkg)
		return false
	}
	return true
}

// findModule looks for the nearest go.mod, as the Go command does, but not above
// the tree's root.
func (a *analysis) findModule() bool {
	for dir := a.pkg; ; dir = path.Dir(dir) {
		file := path.Join(dir, "go.mod")
		if data, ok := a.need(file, problem.Literal(file)); ok {
			a.dir = dir
			a.file = a.parseMod(file, data)
			if a.file == nil {
				return false
			}
			a.locals = append(a.locals, localModule{a.file.Module.Mod.Path, dir})
			return true
		}
		if dir == "." {
			a.Add("there is no go.mod in %s, or above it up to the tree's root", a.pkg)
			return false
		}
	}
}

func (a *analysis) parseMod(file string, data []byte) *modfile.File {
	f, err := modfile.Parse(file, data, nil)
	if err != nil {
		a.Add("%v", err)
		return nil
	}
	if f.Module == nil {
		a.Add("%s: it has no module line", file)
		return nil
	}
	return f
}

// findWork looks for the nearest go.work from the module upwards. One that does
// not use the module does not govern it.
func (a *analysis) findWork() {
	if a.recipe.Env["GOWORK"] == "off" {
		return
	}
	for dir := a.dir; ; dir = path.Dir(dir) {
		file := path.Join(dir, "go.work")
		if data, ok := a.peek(file); ok {
			work, err := modfile.ParseWork(file, data, nil)
			if err != nil {
				a.Add("%v", err)
				return
			}
			if slices.ContainsFunc(work.Use, func(u *modfile.Use) bool { return !path.IsAbs(u.Path) && path.Join(dir, u.Path) == a.dir }) {
				a.need(file, problem.Literal(file))
				a.work, a.workDir = work, dir
				a.checkUses(file)
			}
			return
		}
		if dir == "." {
			return
		}
	}
}

func (a *analysis) checkSums() {
	a.needSum(path.Join(a.dir, "go.sum"))
	if a.work != nil {
		a.needSum(path.Join(a.workDir, "go.work.sum"))
	}
}

// needSum notes a file of checksums that the tree has and the inputs have not.
// A module without dependencies has none.
func (a *analysis) needSum(file string) { a.need(file, problem.Literal(file)) }

func (a *analysis) checkVendor() {
	root := a.dir
	if a.work != nil {
		root = a.workDir
	}
	vendor := path.Join(root, "vendor")
	_, a.vendored = a.need(path.Join(vendor, "modules.txt"), problem.Literal(vendor))
}

func (a *analysis) checkAssets() {
	program := a.programName()
	for _, asset := range a.recipe.Assets {
		p := cleanPath(asset)
		switch {
		case leavesTree(p):
			a.Add("build.go.assets: %s leads out of the tree", asset)
		case p == program || strings.HasPrefix(p, program+"/") || p == "." && a.onDisk(program):
			a.Add("build.go.assets: %s would stand where the program does, at %s/%s", asset, programFolder, program)
		case a.onDisk(p):
			a.checkWhiteouts(p)
		case a.inFull(p):
			a.Miss(p, problem.Literal(p))
		default:
			a.Add("build.go.assets: the tree has no %s", asset)
		}
	}
}

// checkWhiteouts refuses names that would delete something in the image.
func (a *analysis) checkWhiteouts(asset string) {
	err := filepath.WalkDir(a.disk(asset), func(file string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(file); err == nil && strings.HasPrefix(name, layer.Whiteout) {
			a.Add("build.go.assets: %s holds %s, and in an image's layer a name that begins with %s is a deletion: exclude it, or call it otherwise", asset, name, layer.Whiteout)
		}
		return err
	})
	a.err = errors.Join(a.err, err)
}

// need reads a file of the inputs. One that only the full tree has is noted as
// missing and read from there.
func (a *analysis) need(file, pattern string) (data []byte, ok bool) {
	data, ok = a.peek(file)
	if ok && !a.onDisk(file) {
		a.Miss(file, pattern)
	}
	return data, ok
}

// peek is need without a note.
func (a *analysis) peek(file string) (data []byte, ok bool) {
	data, err := os.ReadFile(a.disk(file))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = a.request.Full.ReadFile(a.ctx, file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, source.ErrNotFound) {
		a.err = errors.Join(a.err, fmt.Errorf("read %s: %w", file, err))
	}
	return data, err == nil
}

// disk is where a path of the tree was exported to.
func (b *build) disk(p string) string {
	return filepath.Join(b.folder.Path("src"), filepath.FromSlash(p))
}

func (b *build) onDisk(p string) bool {
	_, err := os.Stat(b.disk(p))
	return err == nil
}

func (a *analysis) inFull(p string) bool {
	_, err := a.request.Full.Lookup(a.ctx, p)
	return err == nil
}
