package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/sizetest"
)

// What is edited in any way has, each time, the tree that git makes of it, and
// that of the commit that follows.
func TestRandomEdits(t *testing.T) {
	t.Parallel()
	for seed := range sizetest.Of[uint64](6, 120) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			dir := newRepo(t)
			if seed%3 == 1 {
				runGit(t, dir, "config", "core.autocrlf", "true")
			}
			for step := range 25 {
				what := randomise(t, r, dir)
				c, err := open(Config{Dir: dir, Env: testEnv()})
				if err != nil {
					t.Fatal(err)
				}
				if seed%2 == 1 {
					c.resolution = 0 // what was edited before this step is known
				}
				got, err := c.snapshot(t.Context())
				if err != nil {
					t.Fatalf("step %d, after %s: %v", step, what, err)
				}
				if want := referenceHere(t, dir); got.ID != want {
					t.Fatalf("step %d, after %s\ngit's tree is %s, not %s of\n%s", step, what, want, got.ID, listing(t, got))
				}
				listing(t, got) // all of it can be read
				if r.IntN(3) == 0 {
					commit(t, dir)
					if want := runGit(t, dir, "rev-parse", "HEAD^{tree}"); got.ID != source.ID(want) {
						t.Fatalf("step %d: the commit's tree is %s, not %s", step, want, got.ID)
					}
				}
			}
		})
	}
}

// randomise changes files, their modes, what they are and where, and the index.
func randomise(t testing.TB, r *rand.Rand, dir string) string {
	t.Helper()
	var done []string
	names := []string{"a", "b", "d", "e", "f", "a b", "é", "-x", "q\"", ".gitignore", "ignored", ".gitattributes"}
	for range 1 + r.IntN(6) {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = names[r.IntN(len(names))]
		}
		name := strings.Join(parts, "/")
		p := filepath.Join(dir, filepath.FromSlash(name))
		content := strings.Repeat(fmt.Sprintln(r.IntN(4)), 1+r.IntN(3))
		if parts[len(parts)-1] == ".gitignore" {
			content = "ignored\n"
		}
		switch {
		case parts[len(parts)-1] == ".gitattributes":
			content = []string{"* text\n", "a -text\n", "* eol=crlf\n", "b text=auto\n"}[r.IntN(4)]
		case r.IntN(3) == 0:
			content = strings.ReplaceAll(content, "\n", "\r\n")
		}
		op := r.IntN(12)
		if op < 8 && (os.RemoveAll(p) != nil || os.MkdirAll(filepath.Dir(p), 0o755) != nil) {
			continue // a file or a link is in the way
		}
		var err error
		switch op {
		case 0:
			if parts[len(parts)-1] == ".gitattributes" {
				// Attributes that a link spells out git takes from the index while it
				// adds the link to it: before or after, as the times of other files
				// have it look into them.
				content = "a\n"
			}
			err = os.Symlink(content, p)
		case 1:
			err = os.WriteFile(p, []byte(content), 0o755)
		case 2, 3: // it stays away
		case 4, 5, 6, 7:
			err = os.WriteFile(p, []byte(content), 0o644)
		case 8:
			_, _ = tryGit(dir, testEnv(), "add", "-f", "--", name)
		case 9:
			_, _ = tryGit(dir, testEnv(), "rm", "-q", "--cached", "-r", "--", name)
		case 10:
			_, _ = tryGit(dir, testEnv(), "add", "-N", "--", name)
		case 11:
			_, _ = tryGit(dir, testEnv(), "reset", "-q", "--", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, fmt.Sprintf("%d %s", op, name))
	}
	return strings.Join(done, ", ")
}
