package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source/worktree"
)

// workTree is a checkout that nobody else works in.
type workTree struct {
	dir    string
	edited string // a file in it
	edits  int
}

// workTrees compares the fingerprints of a working directory, and its tree
// alone, with what git itself says of it in the same state.
func workTrees(ctx context.Context, b *bench) ([]comparison, error) {
	plugin, err := b.plugin(ctx)
	if err != nil {
		return nil, err
	}
	w, err := b.checkOut(ctx)
	if err != nil {
		return nil, err
	}
	status := side{name: "git status --porcelain", run: discard("git", "-C", w.dir, "status", "--porcelain")}
	images := side{name: "kubectl-pharos images --worktree", run: discard(plugin, "images", "--worktree", "--repo", w.dir, "--output", "json")}
	snapshot := side{name: "catalogue/source/worktree", run: func(ctx context.Context) error {
		_, err := worktree.Snapshot(ctx, worktree.Config{Dir: w.dir})
		return err
	}}
	return []comparison{
		{name: "working directory, nothing changed", ours: images, peer: status},
		{name: "working directory, nothing changed, nothing kept", ours: images.after(w.forget), peer: status},
		{name: "working directory, nothing changed, tree alone in process", ours: snapshot, peer: status},
		{name: "working directory, one file edited", ours: images.after(w.edit), peer: status.after(w.edit)},
		{name: "working directory, one file edited, nothing kept", ours: images.after(w.edit, w.forget), peer: status.after(w.edit)},
		{name: "working directory, one file edited, tree alone in process", ours: snapshot.after(w.edit), peer: status.after(w.edit)},
	}, nil
}

// checkOut clones the repository that a flag names, or one that is made.
func (b *bench) checkOut(ctx context.Context) (*workTree, error) {
	from := b.repository
	if from == "" {
		var err error
		if from, err = benchRepo(ctx, b.size, b.progress); err != nil {
			return nil, err
		}
	}
	dir, err := b.folder("worktree")
	if err != nil {
		return nil, err
	}
	if err := gitIn(ctx, "", nil, "clone", "--quiet", "--local", from, dir); err != nil {
		return nil, err
	}
	out, err := command{path: "git", args: []string{"ls-files", "-z", "--", "*.go"}, dir: dir}.output(ctx)
	if err != nil {
		return nil, err
	}
	files := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if files[0] == "" {
		return nil, fmt.Errorf("%s has no Go file to edit", from)
	}
	return &workTree{dir: dir, edited: filepath.Join(dir, filepath.FromSlash(files[len(files)/2]))}, nil
}

// forget removes what is kept of fingerprints.
func (w *workTree) forget(context.Context) error {
	err := os.Remove(filepath.Join(w.dir, ".git", "pharos", "fingerprints"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// edit adds a line to the file.
func (w *workTree) edit(context.Context) error {
	f, err := os.OpenFile(w.edited, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w.edits++
	_, err = fmt.Fprintf(f, "// edit %d\n", w.edits)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
