package worktree

import (
	"os"
	"path/filepath"
	"testing"
)

// convertCases are checkouts whose files are not stored as they are.
var convertCases = []struct {
	name string
	set  func(t *testing.T) (dir, sub string)
}{
	{"core.autocrlf=true", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, "crlf", "1\r\n2\r\n")
		write(t, dir, "d/crlf", "1\r\n2\r\n")
		commit(t, dir) // as it is
		runGit(t, dir, "config", "core.autocrlf", "true")
		write(t, dir, "crlf", "1\r\n2\r\n3\r\n") // stays so: it was
		write(t, dir, "a", "1\r\n2\r\n")
		write(t, dir, "new", "1\r\n2\r\n")
		write(t, dir, "binary", "1\r\n\x00\r\n")
		write(t, dir, "mixed", "1\r\n2\n")
		return dir, ""
	}},
	{"attributes of line endings", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, ".gitattributes", "* text=auto\n*.bat eol=crlf\n*.bin -text\n")
		write(t, dir, "d/.gitattributes", "b -text\n")
		commit(t, dir)
		for _, name := range []string{"a", "x.bat", "x.bin", "d/a", "d/b", "new"} {
			write(t, dir, name, "1\r\n2\r\n3\r\n")
		}
		write(t, dir, "f/.gitattributes", "* -text\n") // not in the index
		write(t, dir, "f/b", "1\r\n2\r\n")
		return dir, ""
	}},
	{"attributes that are only in the index", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, ".gitattributes", "* text\n")
		write(t, dir, "d/.gitattributes", "* -text\n")
		commit(t, dir)
		write(t, dir, "f/.gitattributes", "* -text\n")
		runGit(t, dir, "add", "f/.gitattributes")
		for _, name := range []string{".gitattributes", "d/.gitattributes", "f/.gitattributes"} {
			remove(t, dir, name)
		}
		for _, name := range []string{"a", "d/a", "d/e/a", "f/a"} {
			write(t, dir, name, "1\r\n2\r\n")
		}
		return dir, ""
	}},
	{"attributes that are ignored", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, ".git/info/exclude", ".gitattributes\n")
		write(t, dir, "d/.gitattributes", "* text\n")
		write(t, dir, ".git/info/attributes", "b text\n")
		write(t, dir, "d/a", "1\r\n2\r\n")
		write(t, dir, "f/b", "1\r\n2\r\n")
		return dir, ""
	}},
	{"clean filter", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "config", "filter.up.clean", "tr a-z A-Z")
		runGit(t, dir, "config", "filter.up.required", "true")
		write(t, dir, ".gitattributes", "*.up filter=up\n*.id ident\n*.utf16 text working-tree-encoding=UTF-16LE\n")
		write(t, dir, "x.up", "content")
		write(t, dir, "d/x.id", "$Id: 0000 $\n")
		write(t, dir, "x.utf16", "a\x00\r\x00\n\x00")
		commit(t, dir)
		write(t, dir, "x.up", "other content")
		write(t, dir, "new.up", "new content")
		write(t, dir, "d/x.id", "$Id: 1111 $\n2\n")
		write(t, dir, "x.utf16", "a\x00\r\x00\n\x00b\x00")
		return dir, ""
	}},
}

// What git makes of a file that stays as it is changes with what is set around
// it. The copy that it is compared with has no memory.
func TestRemembersOnlyWhatHolds(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "d/a", "1\r\n2\r\n")
	write(t, dir, "d/new", "1\r\n2\r\n")
	write(t, dir, "new.x", "1\r\n2\r\n")
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"attributes in a folder", func() { write(t, dir, "d/.gitattributes", "* text\n") }},
		{"attributes above it", func() { write(t, dir, ".gitattributes", "*.x text\n") }},
		{"they go again", func() { remove(t, dir, "d/.gitattributes"); remove(t, dir, ".gitattributes") }},
		{"core.autocrlf", func() { runGit(t, dir, "config", "core.autocrlf", "input") }},
		{"no core.autocrlf", func() { runGit(t, dir, "config", "--unset", "core.autocrlf") }},
		{"info/attributes", func() { write(t, dir, ".git/info/attributes", "new text\n") }},
		{"ignored", func() { write(t, dir, ".git/info/exclude", "new.x\n") }},
		{"added though", func() { runGit(t, dir, "add", "-f", "new.x") }},
		{"no longer added", func() { runGit(t, dir, "rm", "-q", "--cached", "new.x") }},
		{"core.fileMode", func() { chmod(t, dir, "d/new", 0o755); runGit(t, dir, "config", "core.fileMode", "false") }},
		{"committed with CRLF", func() { remove(t, dir, ".git/info/attributes"); commit(t, dir); write(t, dir, "d/a", "\r\n") }},
		{"core.autocrlf again", func() { runGit(t, dir, "config", "core.autocrlf", "true") }},
	} {
		step.do()
		for range 2 {
			c, err := open(Config{Dir: dir, Env: testEnv()})
			if err != nil {
				t.Fatal(err)
			}
			c.resolution = -1
			got, err := c.snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := reference(t, dir, ""); got.ID != want {
				t.Fatalf("after %s: git's tree is %s, not %s of\n%s", step.name, want, got.ID, listing(t, got))
			}
		}
	}
	// The user's own configuration.
	home := temp(t)
	for _, settings := range []string{"", "[core]\n\tautocrlf = input\n", "[core]\n\tattributesFile = " + filepath.Join(home, "attributes") + "\n"} {
		write(t, home, ".gitconfig", settings)
		c, err := open(Config{Dir: dir, Env: append(testEnv(), "HOME="+home)})
		if err != nil {
			t.Fatal(err)
		}
		c.resolution = -1
		got, err := c.snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := copyOf(t, dir)
		env := append(testEnv(), "HOME="+home)
		if _, err := tryGit(at, env, "add", "-A"); err != nil {
			t.Fatal(err)
		}
		if want, err := tryGit(at, env, "write-tree"); err != nil || string(got.ID) != want {
			t.Errorf("with the configuration %q: git's tree is %s, not %s, %v", settings, want, got.ID, err)
		}
	}
}

// A file that is edited again, in the same moment, at the same size and with its
// time set back, is seen.
func TestQuickEdits(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	for i := range 60 {
		content := []byte("this is ?\n")
		content[8] = byte('a' + i%26)
		for _, name := range []string{"a", "new"} {
			p := filepath.Join(dir, name)
			info, err := os.Stat(p)
			if err := os.WriteFile(p, content, 0o644); err != nil {
				t.Fatal(err)
			}
			written, statErr := os.Stat(p)
			if statErr != nil {
				t.Fatal(statErr)
			}
			// Only in the same second: a git built without nanoseconds sees
			// nothing of the rest.
			if err == nil && i%3 != 0 && written.ModTime().Unix() == info.ModTime().Unix() {
				if err := os.Chtimes(p, info.ModTime(), info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := snapshot(t, dir)
		for _, name := range []string{"a", "new"} {
			want := runGit(t, dir, "hash-object", name)
			e, err := got.Lookup(t.Context(), name)
			if err != nil || string(e.ID) != want {
				t.Fatalf("edit %d of %s: it has the object %s, not %s, %v", i, name, e.ID, want, err)
			}
		}
		if i%7 == 0 {
			commit(t, dir)
		}
	}
}
