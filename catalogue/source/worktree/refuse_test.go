package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// What git add would take in a way that nobody means is refused, with its name.
func TestRefuses(t *testing.T) {
	t.Parallel()
	conflict := func(t *testing.T) string {
		dir := newRepo(t)
		runGit(t, dir, "checkout", "-q", "-b", "other")
		write(t, dir, "d/a", "theirs\n")
		commit(t, dir)
		runGit(t, dir, "checkout", "-q", "main")
		write(t, dir, "d/a", "ours\n")
		commit(t, dir)
		if _, err := tryGit(dir, testEnv(), "merge", "other"); err == nil {
			t.Fatal("the merge has no conflict")
		}
		return dir
	}
	for _, tt := range []struct {
		name  string
		set   func(t *testing.T) string
		env   []string
		max   int64
		kind  error
		paths []string // of a *PathsError
		says  string   // of any other
	}{
		{name: "unmerged files", set: conflict, kind: ErrUnmerged, paths: []string{"d/a"}},
		{name: "a repository in the checkout", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "init", "-q", "new/nested")
			runGit(t, dir, "init", "-q", "d/nested")
			commit(t, filepath.Join(dir, "d/nested"))
			return dir
		}, kind: ErrNested, paths: []string{"d/nested/", "new/nested/"}},
		{name: "a repository for a file", set: func(t *testing.T) string {
			dir := newRepo(t)
			remove(t, dir, "a")
			runGit(t, dir, "init", "-q", "a")
			commit(t, filepath.Join(dir, "a"))
			return dir
		}, kind: ErrNested, paths: []string{"a"}},
		{name: "a large file", set: func(t *testing.T) string {
			dir := newRepo(t)
			write(t, dir, "d/large", "")
			if err := os.Truncate(filepath.Join(dir, "d/large"), 4<<30); err != nil {
				t.Fatal(err)
			}
			return dir
		}, kind: source.ErrTooLarge, paths: []string{"d/large (4294967296 bytes)"}},
		{name: "a file larger than asked for", set: func(t *testing.T) string {
			dir := newRepo(t)
			write(t, dir, "a", "12345")
			return dir
		}, max: 4, kind: source.ErrTooLarge, paths: []string{"a (5 bytes)"}},
		{name: "a filter that fails", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "config", "filter.f.clean", "false")
			write(t, dir, ".gitattributes", "*.f filter=f\n")
			write(t, dir, "d/x.f", "content")
			return dir
		}, kind: ErrFilter, paths: []string{"d/x.f"}},
		{name: "a required filter that fails", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "config", "filter.f.clean", "false")
			runGit(t, dir, "config", "filter.f.required", "true")
			write(t, dir, ".gitattributes", "*.f filter=f\n")
			write(t, dir, "d/x.f", "content")
			return dir
		}, says: "d/x.f"},
		{name: "core.safecrlf", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "config", "core.autocrlf", "true")
			runGit(t, dir, "config", "core.safecrlf", "true")
			write(t, dir, "a", "1\r\n2\n")
			return dir
		}, says: "a"},
		{name: "a folder of somebody else", set: func(t *testing.T) string { return newRepo(t) }, env: []string{"GIT_TEST_ASSUME_DIFFERENT_OWNER=1"}, says: "safe.directory"},
		{name: "an untracked file outside of a sparse checkout", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "sparse-checkout", "set", "--cone", "d")
			write(t, dir, "g/new", "")
			return dir
		}, says: "g/new"},
		{name: "a broken configuration", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "config", "core.autocrlf", "perhaps")
			return dir
		}, says: "core.autocrlf"},
		{name: "a bare repository", set: func(t *testing.T) string {
			dir := temp(t)
			runGit(t, dir, "init", "-q", "--bare")
			return dir
		}, kind: ErrBare},
		{name: "no repository", set: func(t *testing.T) string { return temp(t) }, kind: source.ErrNoRepository},
		{name: "a working directory elsewhere", set: func(t *testing.T) string {
			dir := newRepo(t)
			runGit(t, dir, "config", "core.worktree", temp(t))
			return dir
		}, kind: source.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.set(t)
			for range 2 { // it is not remembered as anything else
				_, err := Snapshot(t.Context(), Config{Dir: dir, Env: testEnv(tt.env...), MaxFile: tt.max})
				var paths *PathsError
				var failed *GitError
				switch {
				case err == nil:
					t.Fatal("it was taken")
				case tt.kind != nil && !errors.Is(err, tt.kind):
					t.Fatalf("%v, want %v", err, tt.kind)
				case tt.paths != nil && (!errors.As(err, &paths) || !slices.Equal(paths.Paths, tt.paths)):
					t.Fatalf("%v, want the paths %q", err, tt.paths)
				case tt.says != "" && (!errors.As(err, &failed) || !strings.Contains(failed.Stderr, tt.says)):
					t.Fatalf("%v, want git to say %q", err, tt.says)
				}
			}
		})
	}
}

func TestNoGit(t *testing.T) {
	t.Parallel()
	_, err := Snapshot(t.Context(), Config{Dir: newRepo(t), Git: "no-such-git"})
	if !errors.Is(err, source.ErrNoGit) {
		t.Errorf("%v, want %v", err, source.ErrNoGit)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Snapshot(ctx, Config{Dir: newRepo(t), Env: testEnv()}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// Where git says that it passes a folder over, that is an error. A test may run
// as a user who can read everything, so git's words are given.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	c := &checkout{git: git{root: "/repo"}}
	err := c.unreadable([]string{
		"warning: could not open directory 'd/secret/': Permission denied",
		"warning: unable to access '/etc/gitattributes': Permission denied",
		"warning: unable to access 'e/.gitignore': Too many levels of symbolic links",
		"warning: in the working copy of 'a', CRLF will be replaced by LF the next time Git touches it",
	})
	var paths *PathsError
	if !errors.Is(err, ErrUnreadable) || !errors.As(err, &paths) || !slices.Equal(paths.Paths, []string{"d/secret/ (Permission denied)"}) {
		t.Errorf("%v, want d/secret/ only", err)
	}
	if err := c.unreadable(nil); err != nil {
		t.Error(err)
	}
}
