package worktree

import (
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// at takes a snapshot that knows of all that was changed before it.
func at(t *testing.T, dir string, env []string) source.Tree {
	t.Helper()
	c, err := open(Config{Dir: dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	c.resolution = -1
	tree, err := c.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Files that git's configuration includes, or names, count as those that git
// finds by itself do.
func TestRemembersOnlyWhatIncludedSettingsSay(t *testing.T) {
	t.Parallel()
	dir, home := newRepo(t), temp(t)
	env := append(testEnv(), "HOME="+home)
	write(t, dir, "new", "1\r\n2\r\n")
	write(t, dir, "a", "$Id: 0 $\r\n")
	runGit(t, dir, "config", "include.path", filepath.Join(home, "included"))
	write(t, home, ".gitconfig", "[includeIf \"gitdir:/\"]\n\tpath = everywhere\n[core]\n\tattributesFile = ~/attributes\n")
	for _, step := range []struct{ file, content string }{
		{"included", "[core]\n\tautocrlf = false\n"},
		{"included", "[core]\n\tautocrlf = input\n"},
		{"included", ""},
		{"everywhere", "[core]\n\tautocrlf = true\n"},
		{"everywhere", ""},
		{"attributes", "new text\n"},
		{"attributes", "a ident\n"},
		{"elsewhere", "* text\n"},
		{"included", "[core]\n\tattributesFile = " + filepath.Join(home, "elsewhere") + "\n"},
		{"elsewhere", "new ident\n"},
	} {
		write(t, home, step.file, step.content)
		for range 2 {
			if got, want := at(t, dir, env).ID, referenceIn(t, dir, env); got != want {
				t.Errorf("with %q in %s: git's tree is %s, not %s", step.content, step.file, want, got)
			}
		}
	}
}
