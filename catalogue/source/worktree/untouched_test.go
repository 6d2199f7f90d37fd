package worktree

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// everything lists the files of a checkout and of its Git folder, what Pharos
// keeps there left out: what is in them, their modes and when they were written.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if rel == filepath.Join(".git", "pharos") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		said := fmt.Sprint(info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			said += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		// Git refreshes the time of an object that it would write again, and of
		// the shared part of a split index, so that they are not pruned.
		if !strings.HasPrefix(rel, filepath.Join(".git", "objects")) && !strings.Contains(rel, "sharedindex") && rel != ".git" {
			said += fmt.Sprint(" ", info.ModTime().UnixNano())
		}
		files[rel] = said
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Nothing of the user's is written, except for the times of objects: no file, index, object or reference; no hook
// runs, no file system monitor is asked, no daemon started.
func TestTouchesNothing(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		dir := newRepo(t)
		write(t, dir, ".git/ran", "")
		hook := "#!/bin/sh\necho \"$0\" >>'" + dir + "/.git/ran'\n"
		for _, name := range []string{"post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"} {
			write(t, dir, ".git/hooks/"+name, hook)
			chmod(t, dir, ".git/hooks/"+name, 0o755)
		}
		runGit(t, dir, "config", "core.fsmonitor", filepath.Join(dir, ".git/hooks/fsmonitor-watchman"))
		runGit(t, dir, "config", "gc.auto", "1")
		runGit(t, dir, "config", "core.untrackedCache", "true")
		if split {
			runGit(t, dir, "config", "core.splitIndex", "true")
			runGit(t, dir, "config", "splitIndex.sharedIndexExpire", "now")
		}
		runGit(t, dir, "update-index", "--force-write-index")
		write(t, dir, "a", "staged")
		runGit(t, dir, "add", "a")
		write(t, dir, "a", "edited")
		write(t, dir, "new/a", "new")
		remove(t, dir, "d")
		write(t, dir, ".git/ran", "")

		before := everything(t, dir)
		for i := range 3 {
			snapshot(t, dir)
			if i == 0 { // the other way of hashing
				s, err := open(Config{Dir: dir, Env: testEnv("GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_WORK_TREE=/", "GIT_LITERAL_PATHSPECS=1")})
				if err != nil {
					t.Fatal(err)
				}
				work, err := s.private.scratch()
				if err != nil {
					t.Fatal(err)
				}
				store, err := s.private.store(work.began)
				if err != nil {
					t.Fatal(err)
				}
				st, err := s.status(t.Context(), store, work)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.hashAll(t.Context(), store, work, st, nil); err != nil {
					t.Fatal(err)
				}
				work.remove()
			}
		}
		after := everything(t, dir)
		for name, was := range before {
			if after[name] != was {
				t.Errorf("split %v: %s was %s and is %q", split, name, was, after[name])
			}
		}
		for name := range after {
			if before[name] == "" {
				t.Errorf("split %v: %s is new", split, name)
			}
		}
	}
}

// What is kept is the user's alone.
func TestPrivateModes(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "a", "edited")
	snapshot(t, dir)
	err := filepath.WalkDir(filepath.Join(dir, ".git", "pharos"), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if strings.Contains(p, string(filepath.Separator)+"objects"+string(filepath.Separator)) {
			return err // git's own, in a folder that nobody else enters
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
