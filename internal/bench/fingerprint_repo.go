package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// repoSize says how large a repository that is made for a benchmark is.
type repoSize struct {
	files, images, commits int
	loose                  bool // every object in a file of its own
}

// repoVersion is raised when the same size makes another repository.
const repoVersion = 1

func (s repoSize) String() string {
	kind := "packed"
	if s.loose {
		kind = "loose"
	}
	return fmt.Sprintf("%d files, %d images, %d commits, %s", s.files, s.images, s.commits, kind)
}

// benchRepo returns the bare repository of that size. It is made once, and kept
// below the user's cache folder.
func benchRepo(ctx context.Context, s repoSize, progress io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, "pharos", "bench")
	key := strings.NewReplacer(", ", "-", " ", "").Replace(s.String())
	dir := filepath.Join(kept, fmt.Sprintf("v%d-%s.git", repoVersion, key))
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	fmt.Fprintf(progress, "making a repository of %s in %s\n", s, dir)
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(kept, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, "repo.git")
	if err := makeRepo(ctx, made, s); err != nil {
		return "", fmt.Errorf("make a repository of %s: %w", s, err)
	}
	return dir, os.Rename(made, dir)
}

// After the large pack come a few small ones, as those of fetches do, with so
// many commits in all at most.
const (
	laterPacks   = 4
	laterCommits = 2000
)

// makeRepo imports most of the history and repacks it as git gc does, and then
// the rest, a pack for each import.
func makeRepo(ctx context.Context, dir string, s repoSize) error {
	if err := gitIn(ctx, "", nil, "init", "--quiet", "--bare", "--object-format=sha1", "--initial-branch=main", dir); err != nil {
		return err
	}
	h := newHistory(s)
	later := min(s.commits/10, laterCommits)
	if err := h.importTo(ctx, dir, s.commits-later); err != nil {
		return err
	}
	if err := gitIn(ctx, dir, nil, "repack", "-a", "-d", "-f", "-q"); err != nil {
		return err
	}
	for i := range laterPacks {
		if err := importPack(ctx, dir, h, s.commits-later*(laterPacks-1-i)/laterPacks); err != nil {
			return err
		}
	}
	if s.loose {
		return unpackAll(ctx, dir)
	}
	for _, args := range [][]string{
		{"multi-pack-index", "write"},
		{"commit-graph", "write", "--reachable"},
	} {
		if err := gitIn(ctx, dir, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// importPack imports until there are that many commits. Git imports deltas of
// older objects, and a fetch brings the newest ones whole: so they are packed
// anew.
func importPack(ctx context.Context, dir string, h *history, commits int) error {
	before, err := packsOf(dir)
	if err != nil {
		return err
	}
	first := h.commits
	if err := h.importTo(ctx, dir, commits); err != nil || h.commits == first {
		return err
	}
	imported, err := packsOf(dir)
	if err != nil {
		return err
	}
	revs := fmt.Sprintf("main\n^main~%d\n", h.commits-first)
	if err := gitIn(ctx, dir, strings.NewReader(revs), "pack-objects", "-q", "--revs", "--delta-base-offset", "--no-reuse-delta", "objects/pack/pack"); err != nil {
		return err
	}
	for _, name := range imported {
		if slices.Contains(before, name) {
			continue
		}
		for _, extension := range []string{".idx", ".pack"} {
			if err := os.Remove(strings.TrimSuffix(name, ".pack") + extension); err != nil {
				return err
			}
		}
	}
	return nil
}

func packsOf(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
}

// unpackAll takes the packs out of the repository first: git unpacks only what
// it does not have.
func unpackAll(ctx context.Context, dir string) error {
	packs := filepath.Join(dir, "objects", "pack")
	aside := filepath.Join(dir, "aside")
	if err := os.Rename(packs, aside); err != nil {
		return err
	}
	if err := os.Mkdir(packs, 0o755); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(aside, "*.pack"))
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = gitIn(ctx, dir, f, "-c", "core.fsync=none", "-c", "core.compression=1", "unpack-objects", "-q")
		f.Close()
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(aside)
}

// gitIn runs git, whatever the configuration of whoever measures.
func gitIn(ctx context.Context, dir string, stdin io.Reader, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = dir, stdin
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
