package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/cachefile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// growing is a repository that borrows all objects but those of the commits that
// it gets while it is measured. No two of these are the same: what is kept of one
// is never kept of the next.
type growing struct {
	dir   string
	kept  string // what the plugin keeps of its fingerprints
	paths []string
	rand  *rand.Rand
	made  int
}

// growing borrows from a repository, at its last commit.
func (b *bench) growing(ctx context.Context, from string) (*growing, error) {
	dir, err := b.folder("growing")
	if err != nil {
		return nil, err
	}
	if err := gitIn(ctx, "", nil, "clone", "--quiet", "--bare", "--shared", from, dir); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"update-ref", "refs/heads/growing", "HEAD"}, {"symbolic-ref", "HEAD", "refs/heads/growing"}} {
		if err := gitIn(ctx, dir, nil, args...); err != nil {
			return nil, err
		}
	}
	out, err := command{path: "git", args: []string{"ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", "HEAD"}, dir: dir}.output(ctx)
	if err != nil {
		return nil, err
	}
	r := &growing{dir: dir, kept: filepath.Join(dir, "pharos", "fingerprints"), rand: rand.New(rand.NewPCG(3, 4))}
	for line := range strings.SplitSeq(out, "\x00") {
		path, ok := strings.CutPrefix(line, "100644 ")
		if ok && path != catalogue.FileName && !strings.ContainsAny(path, "\"\n") { // which fast-import would take for quotes
			r.paths = append(r.paths, path)
		}
	}
	if len(r.paths) == 0 {
		return nil, fmt.Errorf("%s has no file to edit", from)
	}
	return r, nil
}

// commit edits a file that it chooses by chance, as if nobody had seen it.
func (r *growing) commit(ctx context.Context) error {
	r.made++
	content := fmt.Sprintf("edit %d\n", r.made)
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/growing\ncommitter Ada <ada@example.com> %d +0000\ndata 4\nEdit\nfrom refs/heads/growing^0\n", 1_700_000_000+r.made)
	inline(&b, r.paths[r.rand.IntN(len(r.paths))], content)
	b.WriteString("done\n")
	return gitIn(ctx, r.dir, strings.NewReader(b.String()), "-c", "core.fsync=none", "fast-import", "--quiet", "--done", "--force")
}

// forget removes what is kept.
func (r *growing) forget(context.Context) error {
	err := os.Remove(r.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// states computes the fingerprints of the last commit as the plugin does.
func (r *growing) states(ctx context.Context) error {
	repo, err := source.Open(r.dir)
	if err != nil {
		return err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return err
	}
	cache := cachefile.Open(cachefile.Config{Path: r.kept})
	tree := catalogue.Cached(commit.Tree, cache)
	c, err := catalogue.Load(ctx, tree)
	if err != nil {
		return err
	}
	if _, err := c.States(ctx, tree); err != nil {
		return err
	}
	return cache.Save()
}
