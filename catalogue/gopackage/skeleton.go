package gopackage

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// maxDepth bounds the recursion, as source.Tree.Walk does.
const maxDepth = 512

// skeleton is what the go command looks at of a tree: sources with their content,
// and the names of files beside or below them, which they could embed.
func skeleton(ctx context.Context, tree source.Tree) (source.Tree, error) {
	made := source.NewMemory()
	s := &skeletonMaker{
		objects: tree.Objects, made: made, empty: made.PutBlob(nil), known: map[visit]source.ID{},
	}
	id, err := s.dir(ctx, tree.ID, "", false, 0)
	if err != nil {
		return source.Tree{}, err
	}
	if id == "" {
		if id, err = made.PutTree(nil); err != nil {
			return source.Tree{}, err
		}
	}
	return source.Tree{ID: id, Objects: source.Overlay(made, tree.Objects)}, nil
}

type skeletonMaker struct {
	objects source.Objects
	made    *source.MemoryObjects
	empty   source.ID
	known   map[visit]source.ID
}

// visit is what the remains of a directory depend on, but for links, which depend
// on its depth: how far up they may lead.
type visit struct {
	id      source.ID
	belowGo bool
	depth   int
}

// dir returns the tree of what is left of a directory; "" if that is nothing.
// belowGo says that a directory above it has Go files.
func (s *skeletonMaker) dir(ctx context.Context, id source.ID, name string, belowGo bool, depth int) (source.ID, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if depth > maxDepth {
		return "", fmt.Errorf("%s: %w: directories are nested more than %d deep", name, source.ErrMalformed, maxDepth)
	}
	key := visit{id, belowGo, depth}
	if left, ok := s.known[key]; ok {
		return left, nil
	}
	entries, err := s.objects.Tree(ctx, id)
	if err != nil {
		return "", fmt.Errorf("read directory %q: %w", name, err)
	}
	belowGo = belowGo || slices.ContainsFunc(entries, func(e source.Entry) bool {
		return e.Mode != source.ModeDir && strings.HasSuffix(e.Name, ".go")
	})
	var kept []source.Entry
	for _, e := range entries {
		if e, err = s.entry(ctx, e, name, belowGo, depth); err != nil {
			return "", err
		}
		if e.ID != "" {
			kept = append(kept, e)
		}
	}
	var left source.ID
	if len(kept) > 0 {
		if left, err = s.made.PutTree(kept); err != nil {
			return "", err
		}
	}
	s.known[key] = left
	return left, nil
}

// entry returns what is left of an entry, without an ID if that is nothing.
func (s *skeletonMaker) entry(ctx context.Context, e source.Entry, dir string, belowGo bool, depth int) (source.Entry, error) {
	var err error
	switch {
	case e.Mode == source.ModeDir:
		e.ID, err = s.dir(ctx, e.ID, path.Join(dir, e.Name), belowGo, depth+1)
	case e.Mode == source.ModeSymlink:
		e.ID, err = s.link(ctx, e.ID, depth)
	case e.Mode == source.ModeSubmodule:
		e.ID = ""
	case isModuleFile(e.Name) || belowGo && isSource(e.Name):
	case belowGo:
		e.ID, e.Mode = s.empty, source.ModeFile
	default:
		e.ID = ""
	}
	return e, err
}

// link drops a link that leads out of the tree: no image can have it among its
// inputs.
func (s *skeletonMaker) link(ctx context.Context, id source.ID, depth int) (source.ID, error) {
	target, err := readLink(ctx, s.objects, id)
	if err != nil || path.IsAbs(target) {
		return "", err
	}
	up := 0
	for part := range strings.SplitSeq(path.Clean(target), "/") {
		if part == ".." {
			up++
		}
	}
	if up > depth {
		return "", nil
	}
	return id, nil
}

// isModuleFile holds for the files that say what belongs to a module.
func isModuleFile(name string) bool {
	switch name {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt":
		return true
	}
	return false
}

// isSource holds for the files whose build constraints the go command reads.
func isSource(name string) bool {
	switch path.Ext(name) {
	case ".go", ".s", ".S", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx",
		".f", ".F", ".for", ".f90", ".swig", ".swigcxx":
		return true
	}
	return false
}
