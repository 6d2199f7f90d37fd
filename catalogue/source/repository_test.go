package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lsTree is the tree in the form of git ls-tree -r -t -z.
func lsTree(t *testing.T, tree Tree) string {
	t.Helper()
	var b strings.Builder
	err := tree.Walk(t.Context(), func(path string, e Entry) error {
		kind := map[Mode]string{ModeDir: "tree", ModeSubmodule: "commit"}[e.Mode]
		if kind == "" {
			kind = "blob"
		}
		fmt.Fprintf(&b, "%06o %s %s\t%s\x00", uint32(e.Mode), kind, e.ID, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRandomRepositoriesReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			dir := newRepoOf(t, []string{"sha1", "sha256"}[seed%2])
			repo := open(t, dir)
			for i := range 8 {
				randomise(t, r, dir)
				commit(t, dir, fmt.Sprint(i))
				if i == 5 { // the open repository must notice
					git(t, dir, "gc", "-q", "--prune=now")
				}
			}
			var trees []Tree
			for i, id := range strings.Fields(git(t, dir, "rev-list", "HEAD")) {
				c, err := repo.Commit(t.Context(), fmt.Sprintf("HEAD~%d", i))
				if err != nil {
					t.Fatal(err)
				}
				if short, err := repo.Commit(t.Context(), id[:9]); err != nil || short.ID != c.ID {
					t.Fatalf("%s is %v, %v", id[:9], short, err)
				}
				if string(c.ID) != id || string(c.Tree.ID) != git(t, dir, "rev-parse", id+"^{tree}") {
					t.Fatalf("HEAD~%d is %v, want %s", i, c, id)
				}
				if diff := cmp.Diff(git(t, dir, "ls-tree", "-r", "-t", "-z", id), lsTree(t, c.Tree)); diff != "" {
					t.Fatal(diff)
				}
				trees = append(trees, c.Tree)
			}
			for i := 1; i < len(trees); i++ {
				diffAsGit(t, dir, trees[i], trees[i-1])
				diffAsGit(t, dir, trees[i], trees[0])
			}
			exportAsGit(t, dir, trees[0])
		})
	}
}

func diffAsGit(t *testing.T, dir string, a, b Tree) {
	t.Helper()
	changes, err := Diff(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	zero := ID(strings.Repeat("0", len(a.ID)))
	for _, c := range changes {
		old, now, letter := c.Old, c.New, "M"
		switch {
		case old.Mode == 0:
			old.ID, letter = zero, "A"
		case now.Mode == 0:
			now.ID, letter = zero, "D"
		case old.Mode&0o170000 != now.Mode&0o170000:
			letter = "T"
		}
		fmt.Fprintf(&got, ":%06o %06o %s %s %s\x00%s\x00", uint32(old.Mode), uint32(now.Mode), old.ID, now.ID, letter, c.Path)
	}
	want := git(t, dir, "diff-tree", "-r", "-z", "--no-renames", string(a.ID), string(b.ID))
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Fatal(diff)
	}
}

// exportAsGit holds an export against git's own ID of the files that it wrote.
func exportAsGit(t *testing.T, dir string, tree Tree) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "to")
	if err := Export(t.Context(), tree, to); err != nil {
		t.Fatal(err)
	}
	git(t, to, "init", "-q", "--object-format="+map[int]string{40: "sha1", 64: "sha256"}[len(tree.ID)])
	git(t, to, "add", "-A")
	if got := git(t, to, "write-tree"); got != string(tree.ID) {
		t.Fatalf("the exported files make the tree %s, want %s", got, tree.ID)
	}
}

func TestOpenWalksUp(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "a/b/c", "")
	write(t, dir, "a/.git/note", "an empty folder .git is no repository, git looks further up too")
	link := filepath.Join(resolvedTemp(t), "link")
	if err := os.Symlink(filepath.Join(dir, "a", "b"), link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, filepath.Join(dir, "a", "b"), link} {
		r := open(t, at)
		if r.Root() != dir || r.GitDir() != filepath.Join(dir, ".git") {
			t.Errorf("%s: root %s, Git folder %s", at, r.Root(), r.GitDir())
		}
	}
	for _, at := range []string{resolvedTemp(t), filepath.Join(dir, "absent"), filepath.Join(dir, "a", "b", "c")} {
		if _, err := Open(at); !errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", at, err)
		}
	}
	bad := resolvedTemp(t)
	write(t, bad, ".git", "gitdir: "+filepath.Join(bad, "gone")+"\n")
	if _, err := Open(bad); !errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), "gone") {
		t.Error(err)
	}
}

func TestOpenLayouts(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "f", "1")
	first := commit(t, dir, "first")
	parent := resolvedTemp(t)
	layouts := map[string]func(to string){
		"linked worktree": func(to string) { git(t, dir, "worktree", "add", "-q", "-b", "linked", to) },
		"bare":            func(to string) { git(t, dir, "clone", "-q", "--bare", dir, to) },
		"absolute alternates": func(to string) {
			git(t, dir, "clone", "-q", "--shared", dir, to)
		},
		"relative alternates": func(to string) {
			git(t, dir, "clone", "-q", "--shared", dir, to)
			rel, err := filepath.Rel(filepath.Join(to, ".git", "objects"), filepath.Join(dir, ".git", "objects"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, to, ".git/objects/info/alternates", "# a comment\n\n"+filepath.ToSlash(rel)+"\n")
		},
		"alternates of alternates": func(to string) {
			git(t, dir, "clone", "-q", "--shared", dir, to+" between")
			git(t, dir, "clone", "-q", "--shared", to+" between", to)
		},
		"alternates six deep": func(to string) {
			from := dir
			for i := range maxAlternates - 1 {
				next := fmt.Sprint(to, " ", i)
				git(t, dir, "clone", "-q", "--shared", "--no-checkout", from, next)
				from = next
			}
			git(t, dir, "clone", "-q", "--shared", from, to)
		},
		"alternates that are gone": func(to string) {
			git(t, dir, "clone", "-q", "--shared", dir, to)
			file := filepath.Join(to, ".git", "objects", "info", "alternates")
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// One is no folder, and two have no closing quote and a bad escape.
			dead := "/gone\n/gone/objects\ngone/objects\n../description\n\"gone\n\"\\q\"\n"
			write(t, to, ".git/objects/info/alternates", dead+string(content))
		},
		"separate Git folder": func(to string) { git(t, dir, "clone", "-q", "--separate-git-dir", to+".git", dir, to) },
		"worktree configuration": func(to string) {
			git(t, dir, "clone", "-q", dir, to)
			git(t, to, "config", "core.repositoryformatversion", "1")
			git(t, to, "config", "extensions.worktreeConfig", "true")
		},
		"all packed": func(to string) {
			git(t, dir, "clone", "-q", dir, to)
			git(t, to, "gc", "-q")
		},
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(parent, name)
			layout(to)
			r := open(t, to)
			if want := git(t, to, "rev-parse", "--absolute-git-dir"); r.GitDir() != want || r.Root() != to {
				t.Errorf("root %s, Git folder %s; want %s, %s", r.Root(), r.GitDir(), to, want)
			}
			for _, rev := range []string{"HEAD", first[:8]} {
				c, err := r.Commit(t.Context(), rev)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := c.Tree.ReadFile(t.Context(), "f"); err != nil || string(got) != "1" || string(c.ID) != first {
					t.Errorf("%v: %q, %v", c, got, err)
				}
			}
			if paths, err := r.Dirty(t.Context()); err != nil || len(paths) > 0 {
				t.Errorf("%q, %v", paths, err)
			}
		})
	}
}

func TestShallowAndPartialClonesSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "f", "1")
	commit(t, dir, "first")
	write(t, dir, "f", "2")
	commit(t, dir, "second")
	git(t, dir, "config", "uploadpack.allowFilter", "true")
	shallow, partial := filepath.Join(resolvedTemp(t), "s"), filepath.Join(resolvedTemp(t), "p")
	git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, shallow)
	git(t, dir, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+dir, partial)

	_, err := open(t, shallow).Commit(t.Context(), "HEAD~1")
	if !errors.Is(err, ErrUnknownRevision) || !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "shallow") {
		t.Error(err)
	}
	_, err = head(t, partial).Tree.ReadFile(t.Context(), "f")
	if !errors.Is(err, ErrNotFound) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "partial clone") {
		t.Error(err)
	}
}

func TestUnsupportedLayoutsAreRefused(t *testing.T) {
	t.Parallel()
	for _, config := range [][2]string{{"core.repositoryformatversion", "2"}, {"extensions.refStorage", "reftable"}, {"extensions.fromTheFuture", "yes"}} {
		dir := newRepo(t)
		git(t, dir, "config", config[0], config[1])
		if _, err := Open(dir); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), config[1]) {
			t.Errorf("%s: %v", config, err)
		}
	}
	dir := newRepo(t)
	write(t, dir, ".git/objects/info/alternates", t.TempDir()+"\n")
	if _, err := Open(dir); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}

func TestDirty(t *testing.T) {
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "of a hook elsewhere"))
	t.Setenv("GIT_INDEX_FILE", "index of a hook elsewhere")
	dir := func() string { // git itself must not see those
		os.Unsetenv("GIT_DIR")
		os.Unsetenv("GIT_INDEX_FILE")
		return newRepo(t)
	}()
	write(t, dir, ".gitignore", "ignored\n")
	for _, f := range []string{"changed", "deleted", "moved", "same"} {
		write(t, dir, f, strings.Repeat(f+"\n", 20))
	}
	commit(t, dir, "first")
	write(t, dir, "changed", "2")
	write(t, dir, "ignored", "")
	write(t, dir, "new folder/é \"f\"\n", "")
	git(t, dir, "rm", "-q", "deleted")
	git(t, dir, "mv", "moved", "to")
	// Git would like to note that this file is the same in spite of its time.
	if err := os.Chtimes(filepath.Join(dir, "same"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	os.Setenv("GIT_DIR", "of a hook elsewhere") // undone by t.Setenv
	os.Setenv("GIT_INDEX_FILE", "index of a hook elsewhere")
	r := open(t, dir)
	got, err := r.Dirty(t.Context())
	want := []string{"changed", "deleted", "moved", "new folder/é \"f\"\n", "to"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if now, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil || string(now) != string(index) {
		t.Errorf("the index was written: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := r.Dirty(t.Context()); !errors.Is(err, ErrNoGit) {
		t.Error(err)
	}
}

func TestLargeBlobsAreStreamedAndBounded(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	line := strings.Repeat("x", 1023) + "\n"
	write(t, dir, "large", strings.Repeat(line, MaxFile/1024)+"y")
	write(t, dir, "most", strings.Repeat(line, MaxFile/1024))
	commit(t, dir, "first")
	write(t, dir, "large", strings.Repeat(line, MaxFile/1024)+"z")
	commit(t, dir, "second")
	for _, packed := range []bool{false, true} {
		if packed {
			git(t, dir, "gc", "-q") // makes one of them a delta of another
		}
		for _, rev := range []string{"HEAD", "HEAD~"} {
			c, err := open(t, dir).Commit(t.Context(), rev)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Tree.ReadFile(t.Context(), "large"); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "large") {
				t.Fatal(err)
			}
			if got, err := c.Tree.ReadFile(t.Context(), "most"); err != nil || len(got) != MaxFile {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			e, err := c.Tree.Lookup(t.Context(), "large")
			if err != nil {
				t.Fatal(err)
			}
			var g sync.WaitGroup
			for range 2 {
				g.Go(func() {
					b, size, err := c.Tree.Objects.Blob(t.Context(), e.ID)
					if err != nil || size != MaxFile+1 {
						t.Errorf("%d bytes, %v", size, err)
						return
					}
					defer b.Close()
					if n, err := io.Copy(io.Discard, b); err != nil || n != size {
						t.Errorf("%d bytes, %v", n, err)
					}
				})
			}
			g.Wait()
			exportAsGit(t, dir, c.Tree)
		}
	}
}

func TestConcurrentReadsBesideRepacking(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	for i := range 40 {
		write(t, dir, fmt.Sprintf("d%d/f", i), strings.Repeat(fmt.Sprint(i), 9000))
	}
	commit(t, dir, "first")
	r := open(t, dir)
	want := git(t, dir, "ls-tree", "-r", "-t", "-z", "HEAD")
	stop := make(chan struct{})
	var g, packer sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for range 3 {
				c, err := r.Commit(t.Context(), "main")
				if err != nil {
					t.Error(err)
					return
				}
				if got := lsTree(t, c.Tree); got != want {
					t.Errorf("got %q", got)
				}
				for i := range 40 {
					if b, err := c.Tree.ReadFile(t.Context(), fmt.Sprintf("d%d/f", i)); err != nil || !strings.HasPrefix(string(b), fmt.Sprint(i)) {
						t.Error(err)
					}
				}
			}
		})
	}
	packer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				git(t, dir, "repack", "-q", "-a", "-d", fmt.Sprintf("--window=%d", i%2*10))
			}
		}
	})
	g.Wait()
	close(stop)
	packer.Wait()
}

func TestAnOpenRepositoryNoticesNewPacks(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	r := open(t, dir)
	for i := range 3 {
		content := fmt.Sprint(i)
		write(t, dir, content, content)
		want := commit(t, dir, content)
		git(t, dir, "gc", "-q", "--prune=now")
		c, err := r.Commit(t.Context(), "main")
		if err != nil || string(c.ID) != want {
			t.Fatal(c, err)
		}
		if got, err := c.Tree.ReadFile(t.Context(), content); err != nil || string(got) != content {
			t.Fatalf("%q, %v", got, err)
		}
	}
}
