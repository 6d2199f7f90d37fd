package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Config says which working directory to read and how.
type Config struct {
	// Dir is the checkout or a folder in it. The default is the current one.
	Dir string
	// Git is the git program, a path or a name to look for. The default is
	// "git".
	Git string
	// Env is the environment of the git program. The default is this process's.
	Env []string
	// Log is told what may surprise. The default discards.
	Log *slog.Logger
}

// Snapshot returns the tree of the whole checkout as git add -A followed by git
// write-tree would make it.
func Snapshot(ctx context.Context, c Config) (source.Tree, error) {
	if c.Dir == "" {
		c.Dir = "."
	}
	if c.Git == "" {
		c.Git = "git"
	}
	repo, err := source.Open(c.Dir)
	if err != nil {
		return source.Tree{}, err
	}
	dir := filepath.Join(repo.GitDir(), "pharos", "worktree")
	objects := filepath.Join(dir, "objects")
	if err := os.MkdirAll(filepath.Join(objects, "info"), 0o700); err != nil {
		return source.Tree{}, err
	}
	common := repo.GitDir()
	if data, err := os.ReadFile(filepath.Join(common, "commondir")); err == nil {
		if common = strings.TrimSpace(string(data)); !filepath.IsAbs(common) {
			common = filepath.Join(repo.GitDir(), common)
		}
	}
	if err := os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(filepath.Join(common, "objects")+"\n"), 0o600); err != nil {
		return source.Tree{}, err
	}
	index := filepath.Join(dir, "index")
	if err := copyIndex(filepath.Join(repo.GitDir(), "index"), index); err != nil {
		return source.Tree{}, err
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, c.Git, append([]string{"-C", repo.Root()}, args...)...)
		cmd.Env = append(cmd.Environ(), "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+objects)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("git %s in %s: %w: %s", args[0], repo.Root(), err, strings.TrimSpace(errOut.String()))
		}
		return strings.TrimSpace(out.String()), nil
	}
	if _, err := run("add", "-A"); err != nil {
		return source.Tree{}, err
	}
	id, err := run("write-tree")
	if err != nil {
		return source.Tree{}, err
	}
	read, err := source.OpenObjects(objects)
	return source.Tree{ID: source.ID(id), Objects: read}, err
}

func copyIndex(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
