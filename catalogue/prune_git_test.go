package catalogue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// file is one file of a tree that a test makes.
type file struct {
	path, content string
	mode          source.Mode // ModeFile if it is 0
}

// makeTree stores the files, and empty directories for paths that end in a
// slash, as a tree.
func makeTree(t testing.TB, files ...file) source.Tree {
	t.Helper()
	objects := source.NewMemory()
	return source.Tree{ID: putFiles(t, objects, files), Objects: objects}
}

func putFiles(t testing.TB, objects *source.MemoryObjects, files []file) source.ID {
	t.Helper()
	var entries []source.Entry
	below := map[string][]file{}
	for _, f := range files {
		name, rest, deeper := strings.Cut(f.path, "/")
		switch {
		case deeper && rest == "":
			below[name] = append(below[name], []file{}...)
		case deeper:
			f.path = rest
			below[name] = append(below[name], f)
		case f.mode == source.ModeSubmodule:
			entries = append(entries, source.Entry{Name: name, Mode: f.mode, ID: source.ID(f.content)})
		default:
			if f.mode == 0 {
				f.mode = source.ModeFile
			}
			entries = append(entries, source.Entry{Name: name, Mode: f.mode, ID: objects.PutBlob([]byte(f.content))})
		}
	}
	for name, files := range below {
		entries = append(entries, source.Entry{Name: name, Mode: source.ModeDir, ID: putFiles(t, objects, files)})
	}
	id, err := objects.PutTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// gitTree asks git for the ID of the tree of these files.
func gitTree(t *testing.T, repository string, objects *source.MemoryObjects, files []file) source.ID {
	t.Helper()
	var index strings.Builder
	for _, f := range files {
		if f.mode == 0 {
			f.mode = source.ModeFile
		}
		fmt.Fprintf(&index, "%o %s\t%s\n", uint32(f.mode), objects.PutBlob([]byte(f.content)), f.path)
	}
	env := append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(t.TempDir(), "index"))
	git(t, repository, env, index.String(), "update-index", "--index-info")
	return source.ID(strings.TrimSpace(git(t, repository, env, "", "write-tree", "--missing-ok")))
}

func git(t *testing.T, dir string, env []string, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(input)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, &problem)
	}
	return string(out)
}

func randomFiles(r *rand.Rand) []file {
	var files []file
	taken := map[string]bool{}
	for range 1 + r.IntN(30) {
		path := randomPath(r)
		if taken[path] || clashes(path, taken) {
			continue
		}
		taken[path] = true
		f := file{path: path, content: fmt.Sprint(r.IntN(5))}
		switch r.IntN(6) {
		case 0:
			f.mode = source.ModeExecutable
		case 1:
			f.mode, f.content = source.ModeSymlink, "." // which is always there
		}
		files = append(files, f)
	}
	return files
}

// clashes says whether path is a directory of another, or the other way round.
func clashes(path string, taken map[string]bool) bool {
	for other := range taken {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return true
		}
	}
	return false
}

// The ID of a pruned tree is what git computes for the files that the rule
// chooses, whatever the tree and the patterns, and though a tree may hold
// directories without files, which git never writes.
func TestPruneIsWhatGitComputes(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	git(t, repository, os.Environ(), "", "init", "-q")
	r := rand.New(rand.NewPCG(3, 4))
	empty, whole, parts := 0, 0, 0
	for range 400 {
		files := randomFiles(r)
		stored := files
		if r.IntN(4) == 0 {
			stored = append(slices.Clone(files), file{path: files[0].path + "-/x/"})
		}
		tree, list := makeTree(t, stored...), randomPatterns(r)
		if len(stored) == len(files) {
			if want := gitTree(t, repository, tree.Objects.(*source.MemoryObjects), files); tree.ID != want {
				t.Fatalf("the test makes %s of %v, git %s", tree.ID, files, want)
			}
		}
		var chosen []file
		for _, f := range files {
			if naiveMatch(list, f.path) {
				chosen = append(chosen, f)
			}
		}
		pruned, count, err := Prune(t.Context(), tree, mustPatterns(t, list...))
		if len(chosen) == 0 {
			if empty++; !errors.Is(err, ErrEmpty) {
				t.Fatalf("%v of %v: %v, want ErrEmpty", list, files, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v of %v: %v", list, files, err)
		}
		if want := gitTree(t, repository, tree.Objects.(*source.MemoryObjects), chosen); pruned.ID != want || count != len(chosen) {
			t.Fatalf("%v of %v: %s with %d files, want %s with %d", list, files, pruned.ID, count, want, len(chosen))
		}
		if len(chosen) == len(files) {
			whole++
		} else {
			parts++
		}
		left, err := filePaths(t.Context(), pruned)
		if err != nil || len(left) != len(chosen) {
			t.Fatalf("%v of %v: the pruned tree reads as %v, %v", list, files, left, err)
		}
	}
	if empty < 20 || whole < 20 || parts < 100 {
		t.Errorf("the trees test little: %d without chosen files, %d chosen as a whole, %d in part", empty, whole, parts)
	}
}
