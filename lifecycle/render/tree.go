package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

const (
	// maxFile bounds one file. The API server's own limit for a request is
	// 3 MiB, so a manifest that is larger than this is a mistake.
	maxFile = 16 << 20
	// maxTotal bounds all files of one render.
	maxTotal = 256 << 20
	// maxSymlinks is the number of symbolic links followed for one path, as
	// Linux bounds it (path_resolution(7)).
	maxSymlinks = 40
	// maxLinkTarget is PATH_MAX.
	maxLinkTarget = 4096
)

// lfsPointer begins what Git LFS leaves in the tree instead of a file. A
// checkout would have the file, which comes from a server.
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// tree reads one commit's tree for one render: each object once, whatever
// reads it, and it remembers what was read. It is used by one goroutine.
type tree struct {
	// ctx lives as long as the render: kustomize's file system has no place
	// for one in its methods.
	ctx     context.Context
	objects source.Objects
	root    source.ID

	dirs  map[source.ID]map[string]source.Entry
	found map[string]node
	files map[string][]byte
	reads map[string]bool
	total int64
	// lookups are the names that were looked up, by the folder that they were
	// looked up in, and folders are the IDs of those folders.
	lookups map[string]map[string]looked
	folders map[string]source.ID
	// missed are the paths that were looked for and are not there.
	missed map[string]bool

	// served replaces the content of files towards kustomize.
	served map[string][]byte
	// broken is the first failure that the commit did not cause, such as an
	// object store that cannot be read. kustomize would take it for a missing
	// file, so it is kept here and wins over what kustomize makes of it.
	broken error
}

// node is where a path leads once symbolic links are followed.
type node struct {
	path  string // in the tree, without links; "." is the root
	entry source.Entry
}

func (n node) isDir() bool { return n.entry.Mode == source.ModeDir }

func newTree(ctx context.Context, t source.Tree) *tree {
	return &tree{
		ctx: ctx, objects: t.Objects, root: t.ID,
		dirs:   map[source.ID]map[string]source.Entry{},
		found:  map[string]node{},
		files:  map[string][]byte{},
		reads:  map[string]bool{},
		served: map[string][]byte{},

		lookups: map[string]map[string]looked{},
		folders: map[string]source.ID{},
		missed:  map[string]bool{},
	}
}

// join resolves what a file in dir writes, as kustomize does: first by words,
// then by links.
func join(dir, entry string) (string, error) {
	if path.IsAbs(entry) {
		return "", fmt.Errorf("%w: it is an absolute path", ErrOutside)
	}
	p := path.Join(dir, entry)
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", ErrOutside
	}
	return p, nil
}

// resolve follows a clean path from the root.
func (t *tree) resolve(p string) (node, error) {
	if n, ok := t.found[p]; ok {
		return n, nil
	}
	n, err := t.walk(p)
	if err != nil {
		return node{}, err
	}
	t.found[p] = n
	return n, nil
}

func (t *tree) walk(p string) (node, error) {
	here := []node{{path: ".", entry: source.Entry{Mode: source.ModeDir, ID: t.root}}}
	rest := strings.Split(p, "/")
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(here) == 1 {
				return node{}, ErrOutside
			}
			here = here[:len(here)-1]
			continue
		}
		at := here[len(here)-1]
		if !at.isDir() {
			return node{}, fmt.Errorf("%s is not a folder", at.path)
		}
		dir, err := t.dir(at.entry.ID)
		if err != nil {
			return node{}, err
		}
		entry, ok := dir[name]
		t.asked(at, name, entry)
		if !ok {
			t.missed[path.Join(at.path, name)] = true
			return node{}, fmt.Errorf("%s: %w", path.Join(at.path, name), source.ErrNotFound)
		}
		next := node{path: path.Join(at.path, name), entry: entry}
		switch entry.Mode {
		case source.ModeSubmodule:
			return node{}, fmt.Errorf("%s is a submodule, whose files are not in the commit", next.path)
		case source.ModeSymlink:
			if links++; links > maxSymlinks {
				return node{}, fmt.Errorf("%w: more than %d symbolic links at %s", ErrCycle, maxSymlinks, next.path)
			}
			target, err := t.link(next)
			if err != nil {
				return node{}, err
			}
			rest = append(strings.Split(target, "/"), rest...)
		default:
			here = append(here, next)
		}
	}
	return here[len(here)-1], nil
}

// link reads a symbolic link. Windows' absolute paths are no paths in a tree.
func (t *tree) link(n node) (string, error) {
	b, err := t.blob(n, maxLinkTarget)
	if err != nil {
		return "", err
	}
	target := string(b)
	if target == "" || path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") {
		return "", fmt.Errorf("%w: the symbolic link %s points to %q", ErrOutside, n.path, target)
	}
	return target, nil
}

func (t *tree) dir(id source.ID) (map[string]source.Entry, error) {
	if d, ok := t.dirs[id]; ok {
		return d, nil
	}
	entries, err := t.objects.Tree(t.ctx, id)
	if err != nil {
		return nil, t.fail(err)
	}
	d := make(map[string]source.Entry, len(entries))
	for _, e := range entries {
		d[e.Name] = e
	}
	t.dirs[id] = d
	return d, nil
}

// read returns a file's content. The caller must not modify it.
func (t *tree) read(p string) ([]byte, error) {
	n, err := t.resolve(p)
	if err != nil {
		return nil, err
	}
	if n.isDir() {
		return nil, &fs.PathError{Op: "read", Path: n.path, Err: errors.New("is a folder")}
	}
	return t.blob(n, maxFile)
}

func (t *tree) blob(n node, limit int64) ([]byte, error) {
	if b, ok := t.files[n.path]; ok {
		return b, nil
	}
	if err := t.ctx.Err(); err != nil {
		return nil, t.fail(err)
	}
	rc, size, err := t.objects.Blob(t.ctx, n.entry.ID)
	if err != nil {
		return nil, t.fail(err)
	}
	defer rc.Close()
	if size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are read", ErrTooLarge, n.path, size, limit)
	}
	if t.total += size; t.total > maxTotal {
		return nil, fmt.Errorf("%w: with %s the overlay reads more than %d bytes", ErrTooLarge, n.path, maxTotal)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(rc, b); err != nil {
		return nil, t.fail(fmt.Errorf("read %s: %w", n.path, err))
	}
	if bytes.HasPrefix(b, lfsPointer) {
		return nil, fmt.Errorf("%s is a Git LFS pointer: %w", n.path, ErrRemote)
	}
	if err := checkNesting(b); err != nil {
		return nil, fmt.Errorf("%s: %w", n.path, err)
	}
	t.files[n.path] = b
	t.reads[n.path] = true
	return b, nil
}

// fail keeps the first failure of what is read from.
func (t *tree) fail(err error) error {
	if t.broken == nil {
		t.broken = err
	}
	return err
}

// sortedReads are the paths of all files and links that were read, and of those
// that were looked for and are not there: with them the commit would render to
// something else, if only to the complaint that there are two kustomizations.
func (t *tree) sortedReads() []string {
	all := maps.Clone(t.reads)
	maps.Copy(all, t.missed)
	return slices.Sorted(maps.Keys(all))
}
