package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Several calls at once get the same tree.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	for round := range 4 {
		write(t, dir, "a", fmt.Sprint("edited ", round))
		write(t, dir, fmt.Sprint("new", round), "new")
		want := reference(t, dir, "")
		var g errgroup.Group
		for range 6 {
			g.Go(func() error {
				tree, err := Snapshot(t.Context(), Config{Dir: dir, Env: testEnv()})
				if err == nil && tree.ID != want {
					err = fmt.Errorf("the tree is %s, not %s", tree.ID, want)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// While git adds, commits, resets and collects garbage, neither it nor a
// snapshot fails, and all of what a snapshot holds can be read.
func TestBesideGit(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	done, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		defer stop()
		for i := range 12 {
			if err := os.WriteFile(filepath.Join(dir, "d", "a"), fmt.Appendln(nil, "edited", i), 0o644); err != nil {
				return err
			}
			for _, args := range [][]string{
				{"add", "-A"}, {"commit", "-q", "-m", "a commit"}, {"reset", "-q", "--soft", "HEAD~1"}, {"reset", "-q"},
				{"status", "--porcelain"}, {"commit", "-q", "-a", "-m", "a commit"}, {"gc", "-q", "--prune=now"},
			} {
				if _, err := tryGit(dir, testEnv(), args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	taken := 0
	for done.Err() == nil {
		tree, err := Snapshot(t.Context(), Config{Dir: dir, Env: testEnv()})
		if err != nil {
			t.Fatal(err)
		}
		taken++
		// What the user's own commands prune meanwhile is theirs to lose; what
		// was edited is not.
		if _, err := tree.ReadFile(t.Context(), "d/a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := snapshot(t, dir).ID, reference(t, dir, ""); got != want || taken == 0 {
		t.Errorf("after %d snapshots: git's tree is %s, not %s", taken, want, got)
	}
}

// An object that only the repository had, and lost, is made again.
func TestPruned(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "new", "once staged")
	runGit(t, dir, "add", "new")
	runGit(t, dir, "reset", "-q")
	for range 2 {
		c, err := open(Config{Dir: dir, Env: testEnv()})
		if err != nil {
			t.Fatal(err)
		}
		c.resolution = -1
		tree, err := c.snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if content, err := tree.ReadFile(t.Context(), "new"); err != nil || string(content) != "once staged" {
			t.Fatalf("%q, %v", content, err)
		}
		runGit(t, dir, "gc", "-q", "--prune=now")
	}
}

const (
	killedDir = "PHAROS_TEST_KILLED_DIR"
	killedGit = "PHAROS_TEST_KILLED_GIT"
)

// TestKilled ends the process with SIGKILL before and after each git program
// that it runs, and while that still runs. What follows is as if nothing had
// been.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(killedDir); dir != "" {
		tree, err := Snapshot(t.Context(), Config{Dir: dir, Git: os.Getenv(killedGit), Env: testEnv()})
		fmt.Println("ended with", tree.ID, err)
		return
	}
	t.Parallel()
	dir := newRepo(t)
	for _, when := range []string{`kill -9 $PPID; exec git "$@"`, `git "$@"; status=$?; kill -9 $PPID; exit $status`, `git "$@" & kill -9 $PPID; wait`} {
		for nth, sub := range []string{"status", "update-index", "ls-files", "add", "diff-index"} {
			write(t, dir, "a", when)
			write(t, dir, fmt.Sprint("d/new", nth), when)
			if sub == "add" || sub == "diff-index" { // has it hash with the whole index
				write(t, dir, ".gitattributes", "* text\n")
				commit(t, dir)
				remove(t, dir, ".gitattributes")
				write(t, dir, "a", "edited "+when)
			}
			program := filepath.Join(temp(t), "git")
			script := "#!/bin/sh\nfor arg; do test \"$arg\" = " + sub + " && { " + when + "; }; done\nexec git \"$@\"\n"
			if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			kill(t, dir, program)
			if got, want := snapshot(t, dir).ID, reference(t, dir, ""); got != want {
				t.Fatalf("killed by %q at git %s: git's tree is %s, not %s", when, sub, want, got)
			}
			runGit(t, dir, "checkout", "-q", "HEAD", "--", ".")
			commit(t, dir)
		}
	}
}

// kill runs a snapshot that does not end.
func kill(t *testing.T, dir, program string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestKilled$", "-test.v")
	cmd.Env = append(os.Environ(), killedDir+"="+dir, killedGit+"="+program)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 || strings.Contains(string(out), "ended with") {
		t.Fatalf("it was not killed: %v\n%s", err, out)
	}
}

// A store that has grown is left for a new one; the trees of the old one can be
// read until it is old.
func TestStoreGrows(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "a", "first edit")
	first := snapshot(t, dir)

	c, err := open(Config{Dir: dir, Env: testEnv()})
	if err != nil {
		t.Fatal(err)
	}
	stores := func() []string {
		names, err := sorted(c.private.dir, storePrefix)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	s, err := c.private.store(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	// As if very much had been hashed, of which the store has nothing.
	work, err := c.private.scratch()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.remember(s, work, &cache{written: maxStore + 1}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := stores(); !slices.Equal(got, []string{"1"}) {
		t.Fatalf("stores %v, want the first only", got)
	}
	// As if it were there. The file has no blocks.
	ballast := filepath.Join(s.objects(), "ballast")
	if err := os.WriteFile(ballast, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(ballast, maxStore+1); err != nil {
		t.Fatal(err)
	}
	if err := c.remember(s, work, &cache{written: maxStore + 1}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	work.remove()
	write(t, dir, "a", "second edit")
	second := snapshot(t, dir)
	if got := stores(); !slices.Equal(got, []string{"1", "2"}) {
		t.Fatalf("stores %v, want a second one", got)
	}
	for want, tree := range map[string]source.Tree{"first edit": first, "second edit": second} {
		if content, err := tree.ReadFile(t.Context(), "a"); err != nil || string(content) != want {
			t.Errorf("%q, %v, want %q", content, err, want)
		}
	}
	if _, err := c.private.store(time.Now().Add(2 * kept)); err != nil {
		t.Fatal(err)
	}
	if got := stores(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("stores %v, want the second only", got)
	}
}

// What a power failure may leave of the files that are not flushed is not used.
// Objects git flushes.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "new", "new")
	snapshot(t, dir)
	for i, pattern := range []string{"index-*", "store-*/cache"} {
		files, err := filepath.Glob(filepath.Join(dir, ".git", "pharos", "worktree", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, f := range files {
			if err := os.Chmod(f, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, []byte(strings.Repeat("\x00", 100*i)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := snapshot(t, dir)
		if want := reference(t, dir, ""); got.ID != want {
			t.Errorf("%s: git's tree is %s, not %s", pattern, want, got.ID)
		}
		listing(t, got)
	}
}

// A moved repository takes its private folder along.
func TestMoved(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "a", "edited")
	snapshot(t, dir)
	moved := filepath.Join(temp(t), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if got, want := snapshot(t, moved), reference(t, moved, ""); got.ID != want {
		t.Errorf("git's tree is %s, not %s", want, got.ID)
	} else {
		listing(t, got)
	}
}
