package watch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

func TestChangeNamesItsPaths(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a/old", "1")
	m := model{"a/old": {"file", "1"}}
	r := start(t, watch.Config{Root: root, Files: patterns(t, "a")}, m)

	write(t, root, "a/b/new", "2")
	m["a/b/new"] = entry{"file", "2"}
	r.until(m)
	if !slices.Equal(r.last.Paths, []string{"a/b/new"}) {
		t.Errorf("the paths are %q", r.last.Paths)
	}
	must(t, os.Remove(filepath.Join(root, "a/old")))
	delete(m, "a/old")
	r.until(m)
	if !slices.Equal(r.last.Paths, []string{"a/old"}) {
		t.Errorf("the paths are %q", r.last.Paths)
	}
}

// A burst is one change, up to the time that bounds it.
func TestBurst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "")
	r := start(t, watch.Config{Root: root, Files: patterns(t, "a", "f*"), Quiet: time.Hour, Longest: 200 * time.Millisecond}, model{"a": {"file", ""}})
	m := model{"a": {"file", ""}}
	for i := range 150 {
		name := fmt.Sprintf("f%03d", i)
		write(t, root, "new", "x")
		must(t, os.Rename(filepath.Join(root, "new"), filepath.Join(root, name)))
		m[name] = entry{"file", "x"}
	}
	seen := 0
	for want := m.state(); r.last.State != want; {
		c := r.next()
		if len(c.Paths) > 100 || c.Others > 0 && len(c.Paths) != 100 {
			t.Errorf("%d paths and %d others", len(c.Paths), c.Others)
		}
		seen += len(c.Paths) + c.Others
	}
	if seen != 150 {
		t.Errorf("%d paths were told, want 150", seen)
	}
}

// Events that the system has no room for are made up for by looking at everything.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a/0", "")
	m := model{"a/0": {"file", ""}}
	r := start(t, watch.Config{Root: root, Files: patterns(t, "a"), Quiet: time.Millisecond}, m)
	write(t, root, "a/0", "1")
	m["a/0"] = entry{"file", "1"}
	for r.last.State != m.state() {
		r.last = <-r.changes
	}
	// Nobody takes the next change until all is written.
	write(t, root, "a/0", "2")
	for i := range 9000 {
		name := fmt.Sprintf("a/%d", i)
		write(t, root, name, "x")
		m[name] = entry{"file", "x"}
	}
	r.until(m)
}

// Where there are not enough watches, files are looked at, and that is told.
func TestTooManyFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	m := model{}
	for i := range 5 {
		name := fmt.Sprintf("a/%d/x", i)
		write(t, root, name, "x")
		m[name] = entry{"file", "x"}
	}
	r := start(t, watch.Config{Root: root, Files: patterns(t, "a"), Watches: 3, Poll: time.Millisecond}, m)
	if !strings.Contains(r.last.Polling, "more than 3 folders") {
		t.Errorf("polling because %q", r.last.Polling)
	}
	write(t, root, "a/4/x", "y")
	m["a/4/x"] = entry{"file", "y"}
	r.until(m)

	// The same when the folders come later.
	other := t.TempDir()
	write(t, other, "a/x", "x")
	m = model{"a/x": {"file", "x"}}
	r = start(t, watch.Config{Root: other, Files: patterns(t, "a"), Watches: 3, Poll: time.Millisecond}, m)
	if r.last.Polling != "" {
		t.Errorf("polling because %q", r.last.Polling)
	}
	write(t, other, "a/b/c/x", "x")
	m["a/b/c/x"] = entry{"file", "x"}
	r.until(m)
	for r.last.Polling == "" {
		r.next()
	}
}

// When there are events to be had again, they are.
func TestEventsComeBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	m := model{}
	for _, name := range []string{"a/x", "a/b/x", "a/b/c/x"} {
		write(t, root, name, "x")
		m[name] = entry{"file", "x"}
	}
	r := start(t, watch.Config{Root: root, Files: patterns(t, "a"), Watches: 3, Poll: time.Millisecond, Again: 10 * time.Millisecond}, m)
	if r.last.Polling == "" {
		t.Error("four folders have three watches")
	}
	must(t, os.RemoveAll(filepath.Join(root, "a/b/c")))
	delete(m, "a/b/c/x")
	for r.until(m); r.last.Polling != ""; {
		r.next()
	}
	write(t, root, "a/b/x", "y")
	m["a/b/x"] = entry{"file", "y"}
	if r.until(m); r.last.Polling != "" {
		t.Errorf("polling because %q", r.last.Polling)
	}
}

// What Git ignores does not count, unless it is tracked; a changed .gitignore does
// what it says.
func TestIgnored(t *testing.T) {
	t.Parallel()
	for _, polling := range []bool{false, true} {
		t.Run(fmt.Sprint(polling), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			env := repository(t, root)
			write(t, root, ".gitignore", "node_modules/\n*.log\n!keep.log\n")
			write(t, root, "web/node_modules/x/y.js", "x")
			write(t, root, "web/tracked.log", "x")
			write(t, root, "web/node_modules/tracked.js", "x")
			git(t, root, env, "add", "--force", "web/tracked.log", "web/node_modules/tracked.js")
			write(t, root, "web/other.log", "x")
			write(t, root, "web/keep.log", "x")
			write(t, root, "web/index.js", "x")
			m := model{"web/tracked.log": {"file", "x"}, "web/node_modules/tracked.js": {"file", "x"}, "web/keep.log": {"file", "x"}, "web/index.js": {"file", "x"}}
			r := start(t, watch.Config{Root: root, Files: patterns(t, "web"), Env: env, Polling: polling, Poll: time.Millisecond}, m)

			write(t, root, "web/new.log", "x")
			write(t, root, "web/lib/node_modules/z.js", "x")
			write(t, root, "web/tracked.log", "y")
			m["web/tracked.log"] = entry{"file", "y"}
			r.until(m)

			write(t, root, ".gitignore", "index.js\n")
			delete(m, "web/index.js")
			for _, name := range []string{"web/other.log", "web/new.log", "web/node_modules/x/y.js", "web/lib/node_modules/z.js"} {
				m[name] = entry{"file", "x"}
			}
			r.until(m)
			write(t, root, "web/lib/.gitignore", "*\n")
			delete(m, "web/lib/node_modules/z.js")
			r.until(m)
		})
	}
}

// A root that is reached by a symbolic link, below the root of its repository.
func TestRootBehindALink(t *testing.T) {
	t.Parallel()
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	env := repository(t, real)
	write(t, real, ".gitignore", "*.log\n")
	write(t, real, "sub/a", "1")
	write(t, real, "sub/a.log", "1")
	must(t, os.Symlink(filepath.Join(real, "sub"), link))
	m := model{"a": {"file", "1"}}
	r := start(t, watch.Config{Root: link, Files: patterns(t, "**"), Env: env}, m)
	write(t, real, "sub/b.log", "2")
	write(t, real, "sub/a", "2")
	m["a"] = entry{"file", "2"}
	r.until(m)
}

// A file that may not be read counts as one without content until it may.
func TestPipesAndLinksAreNotRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a/x", "1")
	must(t, os.Symlink("/etc/passwd", filepath.Join(root, "a/link")))
	makePipe(t, filepath.Join(root, "a/pipe"))
	m := model{"a/x": {"file", "1"}, "a/link": {"link", "/etc/passwd"}}
	r := start(t, watch.Config{Root: root, Files: patterns(t, "a")}, m)
	makePipe(t, filepath.Join(root, "a/other"))
	write(t, root, "a/x", "2")
	m["a/x"] = entry{"file", "2"}
	r.until(m)
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "w/a", "")
	write(t, root, "w/b", "")
	told := func(watch.Change) {}
	for name, tt := range map[string]struct {
		config watch.Config
		want   error
	}{
		"without anything":   {watch.Config{}, watch.ErrInvalid},
		"a relative root":    {watch.Config{Root: ".", Files: patterns(t, "w"), Changed: told}, watch.ErrInvalid},
		"a negative time":    {watch.Config{Root: root, Files: patterns(t, "w"), Changed: told, Poll: -1}, watch.ErrInvalid},
		"no root":            {watch.Config{Root: root + "/none", Files: patterns(t, "w"), Changed: told}, os.ErrNotExist},
		"more files than it": {watch.Config{Root: root, Files: patterns(t, "w"), Changed: told, Most: 1}, watch.ErrTooMany},
	} {
		if err := watch.Run(t.Context(), tt.config); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := watch.Run(ctx, watch.Config{Root: t.TempDir(), Files: patterns(t, "w"), Changed: told}); err != nil {
		t.Errorf("when it is over: %v", err)
	}
}

// Git that fails in a repository is no Git that ignores nothing: a program that
// writes beside its sources would be restarted for ever.
func TestGitFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, ".git", "gitdir: /nowhere\n")
	write(t, root, "a", "")
	err := watch.Run(t.Context(), watch.Config{Root: root, Files: patterns(t, "a"), Env: os.Environ(), Changed: func(watch.Change) {}})
	if err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("got %v", err)
	}
}
