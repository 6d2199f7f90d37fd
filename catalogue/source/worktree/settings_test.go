package worktree

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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

// A file that was as committed when git last looked may not be by other settings.
func TestLooksAgainAfterSettings(t *testing.T) {
	t.Parallel()
	dir, home := newRepo(t), temp(t)
	env := append(testEnv(), "HOME="+home)
	write(t, dir, "d/crlf", "1\r\n2\r\n")
	commit(t, dir)
	runGit(t, dir, "config", "include.path", filepath.Join(home, "included"))
	then := time.Now().Add(-time.Hour) // git looks into what is newer than its index
	if err := os.Chtimes(filepath.Join(dir, "d", "crlf"), then, then); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"attributes above it", func() { write(t, dir, ".gitattributes", "*crlf text\n") }},
		{"other ones", func() { write(t, dir, ".gitattributes", "*crlf -text\n") }},
		{"none", func() { remove(t, dir, ".gitattributes") }},
		{"attributes beside it", func() { write(t, dir, "d/.gitattributes", "crlf text\n") }},
		{"none beside it", func() { remove(t, dir, "d/.gitattributes") }},
		{"attributes of the repository", func() { write(t, dir, ".git/info/attributes", "crlf text\n") }},
		{"none of the repository", func() { remove(t, dir, ".git/info/attributes") }},
		{"attributes of the user", func() {
			write(t, home, "attributes", "crlf text\n")
			runGit(t, dir, "config", "core.attributesFile", filepath.Join(home, "attributes"))
		}},
		{"other ones of the user", func() { write(t, home, "attributes", "") }},
		{"included ones", func() {
			write(t, home, "theirs", "crlf text\n")
			write(t, home, "included", "[core]\n\tattributesFile = ~/theirs\n")
			runGit(t, dir, "config", "--unset", "core.attributesFile")
		}},
	} {
		step.do()
		for range 2 {
			if got, want := at(t, dir, env).ID, referenceIn(t, dir, env); got != want {
				t.Errorf("after %s: git's tree is %s, not %s", step.name, want, got)
			}
		}
	}
}

// Where case does not tell names apart, what git makes of a new file depends on
// the names that there are.
func TestRemembersOnlyWhatNamesSay(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	runGit(t, dir, "config", "core.ignoreCase", "true")
	write(t, dir, "G/x", "upper")
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"a folder added", func() {
			write(t, dir, "g/y", "lower")
			runGit(t, dir, "-c", "core.ignoreCase=false", "add", "g/y")
		}},
		{"it stays in the index only", func() { remove(t, dir, "g") }},
		{"it goes", func() { runGit(t, dir, "rm", "-q", "--cached", "g/y") }},
		{"a file of another folder edited", func() { write(t, dir, "a", "edited") }},
		{"a new one", func() { write(t, dir, "g/x y", "mixed") }},
		{"it goes too", func() { remove(t, dir, "g/x y") }},
	} {
		step.do()
		for range 2 {
			if got, want := at(t, dir, testEnv()).ID, referenceHere(t, dir); got != want {
				t.Errorf("after %s: git's tree is %s, not %s", step.name, want, got)
			}
		}
	}
}
