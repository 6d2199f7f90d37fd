package files_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// repository makes a Git repository with one commit of the files.
func repository(t testing.TB, files map[string]source.File) string {
	t.Helper()
	dir := t.TempDir()
	for name, file := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch file.Mode {
		case source.ModeSymlink:
			err = os.Symlink(file.Content, name)
		case source.ModeExecutable:
			err = os.WriteFile(name, []byte(file.Content), 0o755)
		default:
			err = os.WriteFile(name, []byte(file.Content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "one"}} {
		git := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
		git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// treeAt is the tree of a repository's HEAD.
func treeAt(t testing.TB, dir string) source.Tree {
	t.Helper()
	repo, err := source.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.Commit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return commit.Tree
}

// gitEntries reads an archive of git's, whose owner has a name.
func gitEntries(t *testing.T, data []byte) (list []entry) {
	t.Helper()
	for archive := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{h.Name, string(content), h.Linkname, h.Mode})
	}
}
