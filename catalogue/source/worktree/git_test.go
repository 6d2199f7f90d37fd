package worktree

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// testEnv has git untouched by the configuration of whoever tests.
func testEnv(extra ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "XDG_")
	})
	return append(append(env, "GIT_CONFIG_NOSYSTEM=1", "HOME="+os.DevNull,
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", // it would repack in the background
		"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always", // submodules of a folder
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000"), extra...)
}

// tryGit runs the real program.
func tryGit(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "PWD="+dir)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return "", &GitError{Dir: dir, Command: strings.Join(args, " "), Err: err, Stderr: errOut.String()}
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, testEnv(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// newRepo has a commit with files in folders.
func newRepo(t testing.TB) string {
	t.Helper()
	dir := temp(t)
	runGit(t, dir, "init", "-q", "-b", "main")
	for _, name := range []string{"a", "b", "d/a", "d/b", "d/e/a", "f/a", "f/b"} {
		write(t, dir, name, "this is "+name+"\n")
	}
	commit(t, dir)
	return dir
}

// temp is a folder whose path has no symbolic links, as git says it.
func temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func commit(t testing.TB, dir string) {
	t.Helper()
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "a commit", "--allow-empty")
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func snapshot(t testing.TB, dir string) source.Tree {
	t.Helper()
	tree, err := Snapshot(t.Context(), Config{Dir: dir, Env: testEnv()})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// copyOf copies what holds a checkout, with all times.
func copyOf(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(temp(t), "copy")
	if out, err := exec.Command("cp", "-a", dir, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return to
}

// reference is the tree that plain git makes in a copy of a folder; sub is where
// the checkout is in it.
func reference(t testing.TB, dir, sub string) source.ID {
	t.Helper()
	at := filepath.Join(copyOf(t, dir), sub)
	runGit(t, at, "add", "-A")
	return source.ID(runGit(t, at, "write-tree"))
}

// referenceHere is the tree that plain git makes with a copy of a checkout's
// index: unlike in a copy of the checkout, files that are as their entries say
// are not looked into, even if they would now be stored otherwise.
func referenceHere(t testing.TB, dir string) source.ID {
	t.Helper()
	return referenceIn(t, dir, testEnv())
}

// referenceIn is that in another environment.
func referenceIn(t testing.TB, dir string, env []string) source.ID {
	t.Helper()
	private := temp(t)
	index := filepath.Join(private, "index")
	from := filepath.Join(dir, runGit(t, dir, "rev-parse", "--git-path", "index"))
	if _, err := os.Stat(from); err == nil {
		if out, err := exec.Command("cp", "-a", from, index).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
	}
	env = append(slices.Clone(env), "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+private, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(dir, ".git", "objects"))
	if _, err := tryGit(dir, env, "add", "-A"); err != nil {
		t.Fatal(err)
	}
	id, err := tryGit(dir, env, "write-tree")
	if err != nil {
		t.Fatal(err)
	}
	return source.ID(id)
}

// listing names the files of a tree and their objects, each of which can be read.
func listing(t testing.TB, tree source.Tree) string {
	t.Helper()
	var b strings.Builder
	err := tree.Walk(t.Context(), func(path string, e source.Entry) error {
		if e.Mode == source.ModeDir {
			return nil
		}
		fmt.Fprintf(&b, "%o %s %q\n", e.Mode, e.ID, path)
		if e.Mode == source.ModeSubmodule {
			return nil
		}
		content, _, err := tree.Objects.Blob(t.Context(), e.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return content.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
