package source

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs the real program, untouched by the configuration of whoever tests.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, "", args...)
}

func gitIn(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", // it would repack in the background
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	cmd.Stdin = strings.NewReader(stdin)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, errOut.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// resolvedTemp is a folder whose path has no symbolic links, as Root gives it.
func resolvedTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newRepo(t testing.TB) string {
	t.Helper()
	return newRepoOf(t, "sha1")
}

// newRepoOf makes a repository whose object IDs are of that format.
func newRepoOf(t testing.TB, format string) string {
	t.Helper()
	dir := resolvedTemp(t)
	git(t, dir, "init", "-q", "-b", "main", "--object-format="+format)
	return dir
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

func commit(t testing.TB, dir, message string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	return git(t, dir, "rev-parse", "HEAD")
}

func open(t testing.TB, dir string) *Repository {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func head(t testing.TB, dir string) Commit {
	t.Helper()
	c, err := open(t, dir).Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// randomise changes some files of a checkout: content, mode, kind, place.
func randomise(t testing.TB, r *rand.Rand, dir string) {
	t.Helper()
	names := []string{"a", "a.b", "a-b", "b", "B", "c d", "é", "0", ".x", "git", "z\nz"}
	for range 12 {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = names[r.IntN(len(names))]
		}
		p := filepath.Join(append([]string{dir}, parts...)...)
		if os.RemoveAll(p) != nil || os.MkdirAll(filepath.Dir(p), 0o755) != nil {
			continue // a file or a link is in the way
		}
		var err error
		switch content := strings.Repeat(fmt.Sprintln(r.IntN(4)), 1+r.IntN(400)); r.IntN(8) {
		case 0:
			err = os.Symlink("a", p)
		case 1:
			err = os.WriteFile(p, []byte(content), 0o755)
		case 2: // it stays away
		default:
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// goList returns the packages that this one links.
func goList(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
