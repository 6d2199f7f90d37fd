package render

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The virtual file system has two folders: the commit's tree, and the
// kustomization of ours that stands on top of the overlay. They are side by
// side, so no path of the tree can be mistaken for the top's, and the top is
// in no folder that an overlay at the root of the tree would contain, which
// kustomize calls a cycle.
const (
	treeRoot = "/tree"
	topRoot  = "/top"
	topFile  = topRoot + "/kustomization.yaml"
)

// fileSystem shows a tree and the top kustomization to kustomize. Nothing can
// be written, and nothing outside of the tree can be named.
type fileSystem struct {
	tree *tree
	top  []byte
}

var _ filesys.FileSystem = (*fileSystem)(nil)

// treePath turns a path of kustomize into one of the tree.
func treePath(p string) (string, error) {
	p = path.Clean(filepath.ToSlash(p))
	if p == treeRoot {
		return ".", nil
	}
	if rest, ok := strings.CutPrefix(p, treeRoot+"/"); ok {
		return rest, nil
	}
	return "", ErrOutside
}

func isTop(p, top string) bool { return path.Clean(filepath.ToSlash(p)) == top }

// lookup resolves a path of kustomize.
func (f *fileSystem) lookup(p string) (node, error) {
	rel, err := treePath(p)
	if err != nil {
		return node{}, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return f.tree.resolve(rel)
}

// ReadFile returns a file's content.
func (f *fileSystem) ReadFile(p string) ([]byte, error) {
	if isTop(p, topFile) {
		return f.top, nil
	}
	n, err := f.lookup(p)
	if err != nil {
		return nil, err
	}
	if b, ok := f.tree.served[n.path]; ok {
		return b, nil
	}
	return f.tree.read(n.path)
}

// CleanedAbs splits a path into a folder without links and a file name.
func (f *fileSystem) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	if isTop(p, topRoot) {
		return confirmed(topRoot), "", nil
	}
	if isTop(p, topFile) {
		return confirmed(topRoot), path.Base(topFile), nil
	}
	n, err := f.lookup(p)
	if err != nil {
		return "", "", err
	}
	if n.isDir() {
		return confirmed(path.Join(treeRoot, n.path)), "", nil
	}
	return confirmed(path.Join(treeRoot, path.Dir(n.path))), path.Base(n.path), nil
}

func confirmed(p string) filesys.ConfirmedDir { return filesys.ConfirmedDir(filepath.FromSlash(p)) }

// IsDir reports whether the path is a folder.
func (f *fileSystem) IsDir(p string) bool {
	if isTop(p, topRoot) {
		return true
	}
	n, err := f.lookup(p)
	return err == nil && n.isDir()
}

// Exists reports whether the path leads somewhere.
func (f *fileSystem) Exists(p string) bool {
	if isTop(p, topRoot) || isTop(p, topFile) {
		return true
	}
	_, err := f.lookup(p)
	return err == nil
}

// What follows is what a build never asks for: writing, and the lists, searches
// and open files of kustomize's editing commands.

func refused(op, p string) error {
	return &fs.PathError{Op: op, Path: p, Err: errors.ErrUnsupported}
}

func (f *fileSystem) ReadDir(p string) ([]string, error)       { return nil, refused("readdir", p) }
func (f *fileSystem) Create(p string) (filesys.File, error)    { return nil, refused("create", p) }
func (f *fileSystem) Mkdir(p string) error                     { return refused("mkdir", p) }
func (f *fileSystem) MkdirAll(p string) error                  { return refused("mkdir", p) }
func (f *fileSystem) RemoveAll(p string) error                 { return refused("remove", p) }
func (f *fileSystem) WriteFile(p string, _ []byte) error       { return refused("write", p) }
func (f *fileSystem) Open(p string) (filesys.File, error)      { return nil, refused("open", p) }
func (f *fileSystem) Glob(p string) ([]string, error)          { return nil, refused("glob", p) }
func (f *fileSystem) Walk(p string, _ filepath.WalkFunc) error { return refused("walk", p) }
