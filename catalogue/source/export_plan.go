package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

type exportPlan struct {
	files    []exported
	dirs     []string
	problems []error
	paths    int // their bytes
}

type exported struct {
	path   string
	mode   Mode
	id     ID
	target string // of a symbolic link
}

// planExport lists what is to be written, and what the tree alone shows cannot
// be.
func planExport(ctx context.Context, tree Tree) (*exportPlan, error) {
	p := &exportPlan{}
	links := map[string]string{}
	err := tree.Walk(ctx, func(name string, e Entry) error {
		if len(p.files)+len(p.dirs) == maxEntries {
			return fmt.Errorf("the tree holds more than %d entries: %w", maxEntries, ErrTooLarge)
		}
		if p.paths += len(name); p.paths > maxPaths {
			return fmt.Errorf("the paths of the tree have more than %d bytes: %w", maxPaths, ErrTooLarge)
		}
		f := exported{path: name, mode: e.Mode, id: e.ID}
		switch e.Mode {
		case ModeDir:
			p.dirs = append(p.dirs, name)
			return nil
		case ModeSubmodule:
			p.problems = append(p.problems, fmt.Errorf("%s %w", name, ErrSubmodule))
			return nil
		case ModeSymlink:
			target, err := ReadLink(ctx, tree.Objects, e.ID)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			f.target = target
			links[name] = target
		}
		p.files = append(p.files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for link, target := range links {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if leaves(links, link) {
			p.problems = append(p.problems, fmt.Errorf("%s %w: to %q", link, ErrSymlink, target))
		}
	}
	return p, nil
}

// batch is how many files of a folder are written one after the other.
const batch = 64

// byFolder returns the files in batches, each of one folder.
func (p *exportPlan) byFolder() [][]exported {
	folders, last := [][]exported(nil), map[string]int{} // by folder: its last batch
	for _, f := range p.files {
		dir := path.Dir(f.path)
		i, ok := last[dir]
		if !ok || len(folders[i]) == batch {
			i = len(folders)
			folders, last[dir] = append(folders, nil), i
		}
		folders[i] = append(folders[i], f)
	}
	return folders
}

// maxLinks is how many links filepath.EvalSymlinks follows for one path; no
// kernel follows as many.
const maxLinks = 255

// leaves says whether following a link leads out of the tree, going through the
// other links as a kernel does: "d/up/.." is not "d" if "up" is a link. What
// does not exist is taken for a directory. A circle leads nowhere, so not out.
func leaves(links map[string]string, link string) bool {
	at, todo := path.Dir(link), []string{path.Base(link)} // the next one last
	for followed := 0; len(todo) > 0; {
		part := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return true
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		target, isLink := links[next]
		if !isLink {
			at = next
			continue
		}
		if path.IsAbs(target) || filepath.IsAbs(target) || filepath.VolumeName(target) != "" {
			return true
		}
		if followed++; followed > maxLinks {
			return false
		}
		parts := strings.Split(filepath.ToSlash(target), "/")
		slices.Reverse(parts)
		todo = append(todo, parts...)
	}
	return false
}

// lfsPointer begins every pointer file and maxPointer is less than its size in
// bytes can be, see docs/spec.md of Git LFS.
const (
	lfsPointer = "version https://git-lfs.github.com/spec/v1\n"
	maxPointer = 1024
)

// RefuseLFS returns what reads the same content of a file of that size in bytes,
// for those who write files elsewhere than Export does. The error is ErrLFS if the
// file is a Git LFS pointer, or one of reading it.
func RefuseLFS(r io.Reader, size int64) (io.Reader, error) {
	if size >= maxPointer || size < int64(len(lfsPointer)) {
		return r, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte(lfsPointer)) {
		return nil, ErrLFS
	}
	return bytes.NewReader(data), nil
}

func joinSorted(problems []error) error {
	slices.SortFunc(problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}
