package gopackage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/treefiles"
)

// maxDepth bounds the recursion, as source.Tree.Walk does.
const maxDepth = 512

// skeleton is what the go command looks at of a tree: sources with their content,
// and the names of files beside or below them, which they could embed.
func skeleton(ctx context.Context, tree source.Tree) (source.Tree, error) {
	made := source.NewMemory()
	s := &skeletonMaker{
		objects: tree.Objects, made: made, empty: made.PutBlob(nil), known: map[visit]source.ID{},
		linked: map[string]bool{}, toLinked: map[string]bool{},
	}
	if err := s.findLinks(ctx, tree); err != nil {
		return source.Tree{}, err
	}
	id, err := s.dir(ctx, tree.ID, ".", false, 0)
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
	// linked are the paths that symbolic links lead to, and toLinked the folders
	// above them.
	linked, toLinked map[string]bool
}

// findLinks finds what symbolic links lead to: a source may have any name there.
func (s *skeletonMaker) findLinks(ctx context.Context, tree source.Tree) error {
	files, err := treefiles.List(ctx, tree)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Mode != source.ModeSymlink {
			continue
		}
		target, err := source.ReadLink(ctx, s.objects, f.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		to := path.Join(path.Dir(f.Path), target)
		s.linked[to] = true
		for to != "." && to != "/" && to != ".." {
			to = path.Dir(to)
			s.toLinked[to] = true
		}
	}
	return nil
}

// visit is what the remains of a directory depend on. The depth is for links: it
// is how far up they may lead.
type visit struct {
	id    source.ID
	keep  bool
	depth int
	path  string // of a directory above what a link leads to, "" otherwise
}

// dir returns the tree of what is left of a directory; "" if that is nothing.
// keep says that all names count, since a Go file above it embeds files, or a link
// leads to it.
func (s *skeletonMaker) dir(ctx context.Context, id source.ID, name string, keep bool, depth int) (source.ID, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if depth > maxDepth {
		return "", fmt.Errorf("%s: %w: directories are nested more than %d deep", name, source.ErrMalformed, maxDepth)
	}
	keep = keep || s.linked[name]
	key := visit{id: id, keep: keep, depth: depth}
	if s.toLinked[name] {
		key.path = name
	}
	if left, ok := s.known[key]; ok {
		return left, nil
	}
	entries, err := s.objects.Tree(ctx, id)
	if err != nil {
		return "", fmt.Errorf("read directory %q: %w", name, err)
	}
	at := place{path: name, depth: depth, keep: keep}
	if err := s.look(ctx, entries, &at); err != nil {
		return "", err
	}
	var kept []source.Entry
	for _, e := range entries {
		if e, err = s.entry(ctx, e, at); err != nil {
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

// place is a directory that is gone through.
type place struct {
	path  string
	depth int
	keep  bool // all names count in it and below
	hasGo bool // it may hold a package
}

// look looks for Go files, and whether they embed something.
func (s *skeletonMaker) look(ctx context.Context, entries []source.Entry, at *place) error {
	for _, e := range entries {
		if e.Mode == source.ModeDir || !strings.HasSuffix(e.Name, ".go") {
			continue
		}
		at.hasGo = true
		if at.keep {
			return nil
		}
		if !e.Mode.IsFile() {
			at.keep = true // a link: what it leads to may embed
			continue
		}
		embeds, err := s.embeds(ctx, e.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(at.path, e.Name), err)
		}
		at.keep = embeds
	}
	return nil
}

// embeds says whether a Go file may embed others.
func (s *skeletonMaker) embeds(ctx context.Context, id source.ID) (bool, error) {
	r, size, err := s.objects.Blob(ctx, id)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if size > source.MaxFile {
		return true, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, source.MaxFile))
	return bytes.Contains(data, []byte("//go:embed")), err
}

// entry returns what is left of an entry, without an ID if that is nothing.
func (s *skeletonMaker) entry(ctx context.Context, e source.Entry, at place) (source.Entry, error) {
	var err error
	name := path.Join(at.path, e.Name)
	switch {
	case e.Mode == source.ModeDir:
		e.ID, err = s.dir(ctx, e.ID, name, at.keep, at.depth+1)
	case e.Mode == source.ModeSymlink:
		e.ID, err = s.link(ctx, e.ID, at.depth)
	case e.Mode == source.ModeSubmodule:
		e.ID = ""
	case isModuleFile(e.Name) || s.linked[name] || (at.keep || at.hasGo) && isSource(e.Name):
	case at.keep || at.hasGo && isNamed(e.Name):
		e.ID, e.Mode = s.empty, source.ModeFile
	default:
		e.ID = ""
	}
	return e, err
}

// link drops a link that leads out of the tree: no image can have it among its
// inputs.
func (s *skeletonMaker) link(ctx context.Context, id source.ID, depth int) (source.ID, error) {
	target, err := source.ReadLink(ctx, s.objects, id)
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

// isNamed holds for the files of a package of which only the name counts.
func isNamed(name string) bool { return name == "default.pgo" || path.Ext(name) == ".syso" }
