package worktree

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// equalCases are checkouts whose tree has to be git's own. The checkout is sub
// in the folder that a case returns.
var equalCases = []struct {
	name string
	set  func(t *testing.T) (dir, sub string)
}{
	{"nothing changed", func(t *testing.T) (string, string) { return newRepo(t), "" }},
	{"no commit and no file", func(t *testing.T) (string, string) {
		dir := temp(t)
		runGit(t, dir, "init", "-q")
		return dir, ""
	}},
	{"no commit", func(t *testing.T) (string, string) {
		dir := temp(t)
		runGit(t, dir, "init", "-q")
		write(t, dir, "staged", "s")
		write(t, dir, "d/staged", "s")
		runGit(t, dir, "add", "-A")
		write(t, dir, "staged", "edited")
		write(t, dir, "new", "n")
		remove(t, dir, "d")
		return dir, ""
	}},
	{"all files removed", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		for _, name := range []string{"a", "b", "d", "f"} {
			remove(t, dir, name)
		}
		return dir, ""
	}},
	{"edits, removals, additions", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, "a", "edited")
		write(t, dir, "d/new", "new")
		write(t, dir, "new/deep/er", "new")
		write(t, dir, "empty", "")
		remove(t, dir, "f")
		remove(t, dir, "d/e/a")
		return dir, ""
	}},
	{"ignored, and ignored but tracked", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, ".gitignore", "*.log\n/out/\n!keep.log\n")
		write(t, dir, "x.log", "")
		write(t, dir, "keep.log", "kept")
		write(t, dir, "out/x", "")
		write(t, dir, "tracked.log", "1")
		runGit(t, dir, "add", "-f", "tracked.log")
		write(t, dir, "tracked.log", "2")
		write(t, dir, ".git/info/exclude", "excluded\n")
		write(t, dir, "excluded", "")
		return dir, ""
	}},
	{"staged", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		for _, name := range []string{"a", "b", "n1", "n2", "n3"} {
			write(t, dir, name, "staged "+name)
		}
		runGit(t, dir, "add", "-A")
		write(t, dir, "b", "edited after")
		write(t, dir, "n2", "edited after")
		remove(t, dir, "n3")
		runGit(t, dir, "rm", "-q", "--cached", "d/a", "f/a")
		remove(t, dir, "f/a")
		runGit(t, dir, "mv", "d/e", "moved")
		return dir, ""
	}},
	{"intended to be added", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		for _, name := range []string{"n1", "n2", "n3"} {
			write(t, dir, name, name)
		}
		runGit(t, dir, "add", "-N", "n1", "n2", "n3")
		remove(t, dir, "n2")
		write(t, dir, "n3", "")
		return dir, ""
	}},
	{"modes", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		chmod(t, dir, "a", 0o755)
		write(t, dir, "x", "#!")
		chmod(t, dir, "x", 0o700)
		return dir, ""
	}},
	{"core.fileMode=false", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		chmod(t, dir, "a", 0o755)
		chmod(t, dir, "b", 0o755)
		commit(t, dir)
		runGit(t, dir, "config", "core.fileMode", "false")
		chmod(t, dir, "a", 0o644)
		write(t, dir, "a", "edited, and still executable")
		chmod(t, dir, "d/a", 0o755)
		write(t, dir, "d/a", "edited, and still not executable")
		write(t, dir, "x", "")
		chmod(t, dir, "x", 0o755)
		runGit(t, dir, "update-index", "--chmod=-x", "b")
		return dir, ""
	}},
	{"symbolic links", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		for name, target := range map[string]string{"l1": "a", "l2": "nowhere", "l3": "d", "d/l4": "../../outside", "a": "b"} {
			remove(t, dir, name)
			link(t, dir, name, target)
		}
		remove(t, dir, "d/e")
		link(t, dir, "d/e", "../f")
		return dir, ""
	}},
	{"core.symlinks=false", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		link(t, dir, "l", "a")
		commit(t, dir)
		runGit(t, dir, "config", "core.symlinks", "false")
		remove(t, dir, "l")
		write(t, dir, "l", "b")
		return dir, ""
	}},
	{"a file for a folder, and a folder for a file", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		remove(t, dir, "d")
		write(t, dir, "d", "file")
		remove(t, dir, "a")
		write(t, dir, "a/b/c", "deep")
		return dir, ""
	}},
	{"odd names", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		for _, name := range []string{"a b", "-x", "new\nline", "tab\t", "é", "q\"q", "c,c", "*", "d/[x]", "\xff", ":(top)"} {
			write(t, dir, name, "1")
		}
		commit(t, dir)
		for _, name := range []string{"a b", "-x", "new\nline", "c,c", "*", "\xff", ":(top)", "n\nn", "n,n"} {
			write(t, dir, name, "22")
		}
		return dir, ""
	}},
	{"assume-unchanged and skip-worktree", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "update-index", "--assume-unchanged", "a", "d/a")
		runGit(t, dir, "update-index", "--skip-worktree", "b", "d/b")
		write(t, dir, "a", "edited")
		write(t, dir, "b", "edited")
		remove(t, dir, "d/a")
		remove(t, dir, "d/b")
		write(t, dir, "f/a", "edited")
		return dir, ""
	}},
	{"skip-worktree of attributes", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, "d/.gitattributes", "* text eol=crlf\n")
		commit(t, dir)
		runGit(t, dir, "update-index", "--skip-worktree", "d/.gitattributes")
		remove(t, dir, "d/.gitattributes")
		write(t, dir, "d/a", "one\r\ntwo\r\n")
		return dir, ""
	}},
	{"alternates", func(t *testing.T) (string, string) {
		from, dir := newRepo(t), temp(t)
		runGit(t, dir, "clone", "-q", "--shared", from, "clone")
		dir = filepath.Join(dir, "clone")
		write(t, dir, "d/a", "edited")
		return dir, ""
	}},
	{"split index", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "update-index", "--split-index")
		write(t, dir, "a", "staged")
		runGit(t, dir, "config", "core.splitIndex", "true")
		runGit(t, dir, "add", "a")
		write(t, dir, "b", "edited")
		write(t, dir, "new", "new")
		return dir, ""
	}},
	{"index of version 4", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "update-index", "--index-version", "4")
		write(t, dir, "d/b", "edited")
		return dir, ""
	}},
	{"untracked cache", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "config", "core.untrackedCache", "true")
		runGit(t, dir, "status")
		write(t, dir, "d/new", "new")
		return dir, ""
	}},
	{"core.ignoreCase=true", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "config", "core.ignoreCase", "true")
		write(t, dir, "D/new", "in a folder that is known as d")
		write(t, dir, "f/a", "edited")
		return dir, ""
	}},
	{"replaced commit", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		other := runGit(t, dir, "commit-tree", "-m", "other", runGit(t, dir, "mktree"))
		runGit(t, dir, "replace", "HEAD", other)
		write(t, dir, "a", "edited")
		return dir, ""
	}},
	{"many edits", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		for i := range 1500 {
			write(t, dir, filepath.Join("many", string(rune('a'+i%26)), string(rune(0x4e00+i))), "1")
		}
		commit(t, dir)
		for i := range 1500 {
			write(t, dir, filepath.Join("many", string(rune('a'+i%26)), string(rune(0x4e00+i))), "22")
		}
		return dir, ""
	}},
	{"a lock of the user's index", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, "a", "edited")
		t.Cleanup(func() { remove(t, dir, ".git/index.lock") })
		return dir, ""
	}},
}

// The tree is that of git add -A and git write-tree in a copy: at first, from
// what the first time left, and after one more edit.
func TestEqualsGit(t *testing.T) {
	t.Parallel()
	for _, tt := range append(equalCases, append(convertCases, layoutCases...)...) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, sub := tt.set(t)
			at := filepath.Join(dir, sub)
			compare := func(when string) {
				t.Helper()
				want := reference(t, dir, sub)
				if tt.name == "a lock of the user's index" {
					write(t, dir, ".git/index.lock", "")
					defer remove(t, dir, ".git/index.lock")
				}
				got := snapshot(t, at)
				if got.ID != want {
					t.Fatalf("%s: git's tree is %s, not %s of\n%s", when, want, got.ID, listing(t, got))
				}
				if !lacksObjects[tt.name] {
					listing(t, got)
				}
			}
			compare("at first")
			compare("again")
			write(t, at, "f/again", "new")
			write(t, at, "f/a", "edited\r\nagain\r\n")
			compare("after an edit")
			// From what is remembered of edits that are old enough.
			for range 2 {
				c, err := open(Config{Dir: at, Env: testEnv()})
				if err != nil {
					t.Fatal(err)
				}
				c.resolution = -1
				got, err := c.snapshot(t.Context())
				if want := reference(t, dir, sub); err != nil || got.ID != want {
					t.Fatalf("from what is remembered: git's tree is %s, not %s, %v", want, got.ID, err)
				}
			}
		})
	}
}

// lacksObjects names the cases in which not all objects are there to be read.
var lacksObjects = map[string]bool{"partial clone": true}

func chmod(t testing.TB, dir, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, dir, name, target string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// A linked worktree has an index, a HEAD and a private folder of its own. What
// git makes of it is asked beside it: in a copy it would be the first one's.
func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	main, dir := newRepo(t), filepath.Join(temp(t), "linked")
	runGit(t, main, "worktree", "add", "-q", dir)
	write(t, dir, "a", "staged")
	runGit(t, dir, "add", "a")
	write(t, dir, "d/a", "edited")
	write(t, dir, "new", "new")
	write(t, main, "b", "edited in the other one")

	got := snapshot(t, dir)
	index := filepath.Join(temp(t), "index")
	if out, err := exec.Command("cp", "-a", runGit(t, dir, "rev-parse", "--git-path", "index"), index).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	env := testEnv("GIT_INDEX_FILE=" + index)
	if _, err := tryGit(dir, env, "add", "-A"); err != nil {
		t.Fatal(err)
	}
	want, err := tryGit(dir, env, "write-tree")
	if err != nil || got.ID != source.ID(want) {
		t.Fatalf("git's tree is %s, not %s, %v", want, got.ID, err)
	}
	if got, want := snapshot(t, main).ID, reference(t, main, ""); got != want {
		t.Errorf("git's tree of the main one is %s, not %s", want, got)
	}
}

// A repository that is open already is read as one that is not, wherever Dir is.
func TestSnapshotOfAnOpenRepository(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "sub/a", "1\n")
	commit(t, dir)
	repo, err := source.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"", "2\n", "1\n"} {
		if change != "" {
			write(t, dir, "sub/a", change)
		}
		tree, err := Snapshot(t.Context(), Config{Dir: t.TempDir(), Repository: repo, Env: testEnv()})
		if err != nil {
			t.Fatal(err)
		}
		if want := reference(t, dir, ""); tree.ID != want {
			t.Errorf("after %q: %s, want %s", change, tree.ID, want)
		}
		if change == "" {
			continue
		}
		if got, err := tree.ReadFile(t.Context(), "sub/a"); err != nil || string(got) != change {
			t.Errorf("sub/a holds %q, %v, want %q", got, err, change)
		}
	}
}

// What looks at a repository that was deleted meanwhile does not bring it back.
func TestSnapshotMakesNoRepository(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	repo, err := source.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := Snapshot(t.Context(), Config{Repository: repo, Env: testEnv()}); err == nil {
		t.Error("there is a tree")
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repository is there again: %v", err)
	}
}
