package gopackage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// module is the main module of a package and the workspace that governs it. All
// folders are paths in the tree; "." is its root.
type module struct {
	dir string
	// workDir is empty without a workspace.
	workDir  string
	vendored bool
	// files are those that say what belongs to the module.
	files []string
}

// root is the folder that "go" regards as the module's or the workspace's.
func (m *module) root() string {
	if m.workDir != "" {
		return m.workDir
	}
	return m.dir
}

// findModule finds the module of a package's folder as the Go builder does: the
// nearest go.mod, and the nearest go.work at or above it if that uses the module.
func (f *Folder) findModule(pkg string, env map[string]string) (*module, error) {
	mod, ok := f.above(pkg, "go.mod")
	if !ok {
		return nil, fmt.Errorf("there is no go.mod in %s, or above it up to the tree's root", pkg)
	}
	m := &module{dir: path.Dir(mod)}
	c := &moduleFiles{folder: f, found: map[string]bool{}}
	replaces, err := c.module(m.dir)
	if err != nil {
		return nil, err
	}
	if work, ok := f.above(m.dir, "go.work"); ok && env["GOWORK"] != "off" {
		if replaces, err = c.workspace(m, work, replaces); err != nil {
			return nil, err
		}
	}
	vendor := path.Join(m.root(), "vendor", "modules.txt")
	if m.vendored = c.add(vendor); !m.vendored {
		// What is vendored is not looked for where it comes from.
		for _, dir := range replaces {
			c.add(path.Join(dir, "go.mod"))
		}
	}
	m.files = slices.Sorted(maps.Keys(c.found))
	return m, nil
}

// above finds the nearest file of that name in a folder or above it.
func (f *Folder) above(dir, name string) (string, bool) {
	for at := dir; ; at = path.Dir(at) {
		if file := path.Join(at, name); f.isFile(file) {
			return file, true
		}
		if at == "." {
			return "", false
		}
	}
}

func (f *Folder) isFile(name string) bool {
	info, err := os.Stat(f.disk(name))
	return err == nil && info.Mode().IsRegular()
}

// moduleFiles gathers the files that say what belongs to a module.
type moduleFiles struct {
	folder *Folder
	found  map[string]bool
}

func (c *moduleFiles) add(name string) bool {
	there := c.folder.isFile(name)
	if there {
		c.found[name] = true
	}
	return there
}

// module adds a module's files and returns the folders in the tree that it
// replaces others with.
func (c *moduleFiles) module(dir string) ([]string, error) {
	file := path.Join(dir, "go.mod")
	data, err := os.ReadFile(c.folder.disk(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a workspace names it: the go command says what is missing
	}
	if err != nil {
		return nil, err
	}
	c.add(file)
	c.add(path.Join(dir, "go.sum"))
	parsed, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, err
	}
	return local(dir, parsed.Replace), nil
}

// workspace adds the files of a workspace if it uses the module.
func (c *moduleFiles) workspace(m *module, file string, replaces []string) ([]string, error) {
	data, err := os.ReadFile(c.folder.disk(file))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(file, data, nil)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(file)
	var used []string
	for _, use := range work.Use {
		if in, ok := inside(dir, use.Path); ok {
			used = append(used, in)
		}
	}
	if !slices.Contains(used, m.dir) {
		return replaces, nil
	}
	m.workDir = dir
	c.add(file)
	c.add(file + ".sum")
	replaces = append(replaces, local(dir, work.Replace)...)
	for _, in := range used {
		more, err := c.module(in)
		if err != nil {
			return nil, err
		}
		replaces = append(replaces, more...)
	}
	return replaces, nil
}

// local are the folders in the tree that a file in the folder base replaces
// modules with.
func local(base string, replaces []*modfile.Replace) []string {
	var dirs []string
	for _, r := range replaces {
		if dir, ok := inside(base, r.New.Path); ok && r.New.Version == "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// inside resolves a path that a file in the folder base names.
func inside(base, name string) (dir string, ok bool) {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) || filepath.IsAbs(name) {
		return "", false
	}
	dir = path.Join(base, name)
	return dir, dir != ".." && !strings.HasPrefix(dir, "../")
}
