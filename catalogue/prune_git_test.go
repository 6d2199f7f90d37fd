package catalogue

import (
	"crypto/sha256"
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
	"github.com/pharos-dev/pharos/internal/sizetest"
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

// gitTrees asks git for the ID of the tree of each of these sets of files: one
// process makes all the trees, another one says what they are.
func gitTrees(t *testing.T, format string, sets [][]file) []source.ID {
	t.Helper()
	repository := t.TempDir()
	git(t, repository, "", "init", "-q", "--object-format="+format)
	var stream strings.Builder
	for i, files := range sets {
		fmt.Fprintf(&stream, "reset refs/heads/x\n\n%s", fastImport("refs/heads/x", i+1, files))
	}
	git(t, repository, stream.String(), "fast-import", "--quiet", "--export-marks=marks")
	marks, err := os.ReadFile(filepath.Join(repository, "marks"))
	if err != nil {
		t.Fatal(err)
	}
	commits := make([]string, len(sets))
	for line := range strings.Lines(string(marks)) {
		var i int
		var commit string
		if _, err := fmt.Sscanf(line, ":%d %s", &i, &commit); err != nil {
			t.Fatal(err)
		}
		commits[i-1] = commit + "^{tree}"
	}
	var trees []source.ID
	for id := range strings.FieldsSeq(git(t, repository, strings.Join(commits, "\n"), "cat-file", "--batch-check=%(objectname)")) {
		trees = append(trees, source.ID(id))
	}
	if len(trees) != len(sets) {
		t.Fatalf("git made %d trees of %d sets of files", len(trees), len(sets))
	}
	return trees
}

// fastImport returns the commands of git fast-import for a commit of the files.
func fastImport(ref string, mark int, files []file) string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s\nmark :%d\ncommitter t <t@example.org> 0 +0000\ndata 0\n", ref, mark)
	for _, f := range files {
		if f.mode == source.ModeSubmodule {
			fmt.Fprintf(&b, "M %o %s %s\n", uint32(f.mode), f.content, f.path)
			continue
		}
		fmt.Fprintf(&b, "M %o inline %s\ndata %d\n%s\n", uint32(max(f.mode, source.ModeFile)), f.path, len(f.content), f.content)
	}
	return b.String()
}

// filePaths returns the paths of all files of a tree.
func filePaths(t *testing.T, tree source.Tree) []string {
	t.Helper()
	var paths []string
	err := tree.Walk(t.Context(), func(path string, e source.Entry) error {
		if e.Mode != source.ModeDir {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func git(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
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

// pruneTally counts what random trees and patterns had in them.
type pruneTally struct{ empty, whole, parts, submodules int }

// The ID of a pruned tree is what git computes for the files that the rule
// chooses, whatever the tree and the patterns, and though a tree may hold
// directories without files, which git never writes.
func TestPruneIsWhatGitComputes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var all pruneTally
	const atOnce = 2000 // trees in one repository
	total := sizetest.Of(3000, 60_000)
	for done := 0; done < total; done += atOnce {
		all.compare(t, r, min(atOnce, total-done))
	}
	if all.empty < total/10 || all.whole < total/13 || all.parts < total/5 || all.submodules < total/100 {
		t.Errorf("%d trees test little: %+v", total, all)
	}
}

// compare prunes trees and has git make the same.
func (all *pruneTally) compare(t *testing.T, r *rand.Rand, trees int) {
	t.Helper()
	var want [][]file // one set for each of got
	var got []source.ID
	for range trees {
		files := randomFiles(r)
		link := file{}
		if r.IntN(6) == 0 {
			link = submodule("zz")
			files = append(files, link)
		}
		var tree source.Tree
		if r.IntN(4) == 0 {
			tree = makeTree(t, append(slices.Clone(files), file{path: files[0].path + "-/x/"})...)
		} else {
			tree = makeTree(t, files...)
			want, got = append(want, files), append(got, tree.ID)
		}
		list := randomPatterns(r)
		var chosen []file
		for _, f := range files {
			if naiveMatch(list, f.path) && f.mode != source.ModeSubmodule {
				chosen = append(chosen, f)
			}
		}
		patterns := mustPatterns(t, list...)
		pruned, count, err := Prune(t.Context(), tree, patterns)
		if link.path != "" && (naiveMatch(list, link.path) || patterns.Dir(link.path) != NoneInside) {
			all.submodules++
			if e, ok := errors.AsType[*SubmoduleError](err); !ok || e.Path != link.path {
				t.Fatalf("%v of %v: %v, want a *SubmoduleError", list, files, err)
			}
			continue
		}
		if len(chosen) == 0 {
			if all.empty++; !errors.Is(err, ErrEmpty) {
				t.Fatalf("%v of %v: %v, want ErrEmpty", list, files, err)
			}
			continue
		}
		if err != nil || count != len(chosen) {
			t.Fatalf("%v of %v: %d files, want %d: %v", list, files, count, len(chosen), err)
		}
		want, got = append(want, chosen), append(got, pruned.ID)
		if len(chosen) == len(files) {
			all.whole++
		} else {
			all.parts++
		}
		if left := filePaths(t, pruned); len(left) != len(chosen) {
			t.Fatalf("%v of %v: the pruned tree reads as %v", list, files, left)
		}
	}
	for i, id := range gitTrees(t, "sha1", want) {
		if got[i] != id {
			t.Errorf("%v: %s, and git says %s", want[i], got[i], id)
		}
	}
}

func TestPruneOfSHA256(t *testing.T) {
	t.Parallel()
	entry := func(name string) source.Entry {
		return source.Entry{Name: name, Mode: source.ModeFile, ID: source.ID(fmt.Sprintf("%x", sha256.Sum256([]byte("blob 1\x00"+name))))}
	}
	objects := source.NewMemory()
	root := source.ID("")
	var err error
	for _, entries := range [][]source.Entry{{entry("x"), entry("y")}, {entry("b")}} {
		if root != "" {
			entries = append(entries, source.Entry{Name: "d", Mode: source.ModeDir, ID: root})
		}
		if root, err = objects.PutTree(entries); err != nil {
			t.Fatal(err)
		}
	}
	pruned, _, err := Prune(t.Context(), source.Tree{ID: root, Objects: objects}, mustPatterns(t, "d/x"))
	if want := gitTrees(t, "sha256", [][]file{{{path: "d/x", content: "x"}}}); err != nil || pruned.ID != want[0] {
		t.Errorf("%s, %v; git says %s", pruned.ID, err, want[0])
	}
}

// The package comment shows how to check a pruned tree with git alone.
func TestPrunedTreeByHand(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	git(t, repository, "", "init", "-q")
	files := goFiles()
	git(t, repository, fastImport("refs/heads/main", 1, files), "fast-import", "--quiet")
	git(t, repository, "", "symbolic-ref", "HEAD", "refs/heads/main")
	script := packageComment(t, "services/api, go.mod]:", "A directory that is chosen")
	want := strings.TrimSpace(shell(t, "", "cd '"+repository+"' && "+script))
	pruned, _, err := Prune(t.Context(), makeTree(t, files...), mustPatterns(t, "services/api", "go.mod"))
	if err != nil || string(pruned.ID) != want {
		t.Errorf("%s, %v; the package comment's commands print %s", pruned.ID, err, want)
	}
}
