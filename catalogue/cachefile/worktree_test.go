package cachefile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
)

// repository is a checkout with the shop in it.
type repository struct {
	dir string
	env []string
}

func newRepository(t testing.TB, format string) repository {
	t.Helper()
	r := repository{dir: t.TempDir(), env: append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")}
	r.git(t, "init", "-q", "-b", "main", "--object-format="+format)
	for path, content := range shopFiles() {
		r.write(t, path, content)
	}
	r.commit(t)
	return r
}

func (r repository) git(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r repository) write(t testing.TB, path, content string) {
	t.Helper()
	name := filepath.Join(r.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r repository) commit(t testing.TB) {
	t.Helper()
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "--allow-empty", "-m", "Edit")
}

// edit changes a few files, or what the catalogue says of them.
func (r repository) edit(t testing.TB, random *rand.Rand) {
	t.Helper()
	for range 1 + random.IntN(3) {
		name := []string{"api/main.go", "api/in/x.go", "api/in/x_test.go", "api/new/y.go", "libs/a/a.go", "libs/b/b.go", "libs/c/d/e.go", "docs/x.md", "web/index.html"}[random.IntN(9)]
		switch random.IntN(8) {
		case 0:
			_ = os.RemoveAll(filepath.Join(r.dir, filepath.FromSlash(name)))
		case 1:
			r.write(t, "pharos.yaml", strings.Replace(shop, "libs, ", []string{"libs, ", "libs/a, ", "libs/*/*.go, ", `libs, "!libs/b", `}[random.IntN(4)], 1))
		case 2:
			r.write(t, "go.mod", fmt.Sprintf("module m\n\ngo 1.26.%d\n", random.IntN(3)))
		default:
			r.write(t, name, fmt.Sprint(random.IntN(4)))
		}
	}
	r.write(t, "web/Dockerfile", "FROM scratch\nCOPY web /\n"+strings.Repeat("# edit\n", random.IntN(2)))
	r.write(t, "api/main.go", fmt.Sprintf("package main // %d\n", random.IntN(4)))
}

// What was edited, what was committed, what another checkout has, and what was
// committed before: each has the fingerprints that it has without what is kept.
func TestWorkingTreesAndCommits(t *testing.T) {
	t.Parallel()
	for seed, format := range []string{"sha1", "sha256", "sha1", "sha1"} {
		t.Run(fmt.Sprint(seed, " ", format), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			r := newRepository(t, format)
			c := Config{Path: filepath.Join(r.dir, ".git", "pharos", "fingerprints")}
			compare := func(what string, tree source.Tree) {
				t.Helper()
				f := Open(c)
				want, got := fingerprints(t.Context(), t, tree), fingerprints(t.Context(), t, catalogue.Cached(tree, f))
				if got != want {
					t.Fatalf("%s:\n%s, want\n%s", what, got, want)
				}
				save(t, f)
			}
			for step := range 20 {
				r.edit(t, random)
				tree, err := worktree.Snapshot(t.Context(), worktree.Config{Dir: r.dir, Env: r.env})
				if err != nil {
					t.Fatal(err)
				}
				compare(fmt.Sprint("edits of step ", step), tree)
				switch random.IntN(3) {
				case 0:
					r.commit(t)
				case 1:
					r.commit(t)
					r.git(t, "repack", "-a", "-d", "-q")
				}
				repo, err := source.Open(r.dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, rev := range []string{"HEAD", "HEAD~1"} {
					commit, err := repo.Commit(t.Context(), rev)
					if err != nil && step > 5 {
						t.Fatal(err)
					} else if err == nil {
						compare(fmt.Sprint(rev, " after step ", step), commit.Tree)
					}
				}
			}
		})
	}
}
