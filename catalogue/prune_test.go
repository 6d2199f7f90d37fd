package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

func link(path, target string) file { return file{path, target, source.ModeSymlink} }

func submodule(path string) file {
	return file{path, strings.Repeat("12", 20), source.ModeSubmodule}
}

func TestPruneFollowsLinks(t *testing.T) {
	t.Parallel()
	tree := makeTree(t,
		file{path: "a/f"}, file{path: "a/b/g"}, file{path: "out/h"}, file{path: "out/i"},
		link("a/to-file", "f"), link("a/b/up", "../f"), link("a/to-dir", "b"), link("a/through", "to-dir/g"), link("a/root", ".."),
		link("a/dots", "./b//../b/g"), link("a/up-through", "to-dir/../f"),
		link("l/other", "../out/h"), link("l/part", "../out/i"), link("l/missing", "gone"), link("l/absolute", "/etc/passwd"),
		link("l/outside", "../../x"), link("l/circle", "circle2"), link("l/circle2", "circle"), link("l/empty", ""),
		link("l/under-file", "../a/f/x"), link("l/second", "other"), link("l/long", strings.Repeat("x", 5000)),
		file{path: "out/dir/deep/j"}, link("out/link", "dir/deep/j"), link("out/dangling", "gone"), submodule("sub"),
		link("l/deep", "../out/dir/deep/j"), link("l/into-nothing", "../out/dir/gone/j"), link("l/over-link", "../out/link"),
		link("l/over-dangling", "../out/dangling"), link("l/and-back", "../out/dir/../../a/f"), link("l/submodule", "../sub"),
	)
	_, files, err := Prune(t.Context(), tree, mustPatterns(t, "a"))
	if err != nil || files != 9 {
		t.Errorf("%d files, %v", files, err)
	}
	_, _, err = Prune(t.Context(), tree, mustPatterns(t, "a", "l", "out/i"))
	got := map[string]string{}
	for _, err := range joined.Errors(err) {
		e, ok := errors.AsType[*SymlinkError](err)
		if !ok {
			t.Fatalf("not a refused link: %v", err)
		}
		got[e.Path] = e.Reason
	}
	want := map[string]string{
		"l/other":      "out/h is not among the inputs",
		"l/missing":    "l/gone is not in the tree: correct the link",
		"l/absolute":   "absolute path",
		"l/outside":    "outside of the tree",
		"l/circle":     "circle",
		"l/circle2":    "circle",
		"l/empty":      "empty",
		"l/under-file": "a/f is not a directory",
		"l/second":     "out/h is not among the inputs",
		"l/long":       "longer than 4096 bytes",

		"l/deep":          "out/dir/deep/j is not among the inputs: add it",
		"l/into-nothing":  "out/dir/gone is not in the tree: correct the link",
		"l/over-link":     "out/link is not among the inputs: add it",
		"l/over-dangling": "out/gone is not in the tree",
		"l/and-back":      "out/dir is not among the inputs: add it",
		"l/submodule":     "sub is a submodule",
	}
	for path, reason := range want {
		if !strings.Contains(got[path], reason) {
			t.Errorf("%s: %q, want %q", path, got[path], reason)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("refused without need: %v", got)
	}
}

func TestPruneRefusesSubmodules(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, file{path: "a/f"}, submodule("a/m"), submodule("m"), submodule("n"))
	for patterns, want := range map[string]string{
		"a":                "a/m",
		"**":               "a/m m n",
		"m":                "m",
		"a/f m/some/file":  "m",
		"**/*.go":          "a/m m n",
		"a !a/m":           "",
		"a/f":              "",
		"a !**/*.md !a/m":  "",
		"a !a/m a/m/x/*.c": "a/m",
	} {
		_, _, err := Prune(t.Context(), tree, mustPatterns(t, strings.Fields(patterns)...))
		var got []string
		for _, err := range joined.Errors(err) {
			if e, ok := errors.AsType[*SubmoduleError](err); ok {
				got = append(got, e.Path)
			} else if err != nil {
				t.Errorf("%s: %v", patterns, err)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", patterns, got, want)
		}
	}
	if _, files, err := Prune(t.Context(), tree, mustPatterns(t, "a", "!a/m")); err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestPruneReportsAllAtOnce(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, submodule("m"), link("a", "gone"), link("b", "/x"))
	_, _, err := Prune(t.Context(), tree, mustPatterns(t, "**"))
	if got := joined.Errors(err); len(got) != 3 {
		t.Errorf("want 3 findings, got %v", got)
	}
}

// spy notes which objects are read, and can lose some.
type spy struct {
	source.Objects
	lost func(source.ID) bool

	mu    sync.Mutex
	trees []source.ID
	blobs []source.ID
}

func (s *spy) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees = append(s.trees, id)
	if s.lost != nil && s.lost(id) {
		return nil, source.ErrNotFound
	}
	return s.Objects.Tree(ctx, id)
}

func (s *spy) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs = append(s.blobs, id)
	if s.lost != nil && s.lost(id) {
		return nil, 0, source.ErrNotFound
	}
	return s.Objects.Blob(ctx, id)
}

func (s *spy) lookup(t *testing.T, tree source.Tree, path string) source.Entry {
	t.Helper()
	e, err := source.Tree{ID: tree.ID, Objects: s.Objects}.Lookup(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestPruneReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, file{path: "a/b/f"}, file{path: "a/c/g"}, link("a/b/l", "f"), file{path: "out/x/y"}, file{path: "h"})
	seen := &spy{Objects: tree.Objects}
	tree.Objects = seen
	pruned, _, err := Prune(t.Context(), tree, mustPatterns(t, "a/b", "h"))
	if err != nil {
		t.Fatal(err)
	}
	want := []source.ID{tree.ID, seen.lookup(t, tree, "a").ID, seen.lookup(t, tree, "a/b").ID}
	if diff := cmp.Diff(want, slices.Compact(seen.trees)); diff != "" {
		t.Errorf("trees read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]source.ID{seen.lookup(t, tree, "a/b/l").ID}, seen.blobs); diff != "" {
		t.Errorf("blobs read (-want +got):\n%s", diff)
	}
	for _, path := range []string{"a/b", "h"} {
		if got, err := pruned.Lookup(t.Context(), path); err != nil || got != seen.lookup(t, tree, path) {
			t.Errorf("%s became %v, %v", path, got, err)
		}
	}
}

func TestPruneWithoutAnObject(t *testing.T) {
	t.Parallel()
	whole := makeTree(t, file{path: "a/b/f"}, link("a/b/l", "f"), file{path: "out/x"})
	objects := &spy{Objects: whole.Objects}
	for _, path := range []string{"a", "a/b", "a/b/l"} {
		lost := objects.lookup(t, whole, path).ID
		tree := source.Tree{ID: whole.ID, Objects: &spy{Objects: whole.Objects, lost: func(id source.ID) bool { return id == lost }}}
		if _, _, err := Prune(t.Context(), tree, mustPatterns(t, "a")); !errors.Is(err, source.ErrNotFound) {
			t.Errorf("without %s: %v", path, err)
		}
	}
	unread := []source.ID{objects.lookup(t, whole, "out").ID, objects.lookup(t, whole, "a/b/f").ID}
	tree := source.Tree{ID: whole.ID, Objects: &spy{Objects: whole.Objects, lost: func(id source.ID) bool { return slices.Contains(unread, id) }}}
	if _, _, err := Prune(t.Context(), tree, mustPatterns(t, "a")); err != nil {
		t.Errorf("without what is not needed: %v", err)
	}
}

func TestPruneEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Prune(ctx, makeTree(t, file{path: "a/f"}), mustPatterns(t, "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What stays whole is taken as it is, however much it holds. The test does not
// run beside others, whose allocations would count.
func TestPruneAllocatesNothingForWholeFiles(t *testing.T) {
	allocations := func(n int) float64 {
		files := []file{{path: "out/x"}}
		for i := range n {
			files = append(files, file{path: fmt.Sprintf("a/b/f%05d", i)})
		}
		tree, patterns := makeTree(t, files...), mustPatterns(t, "a", "!**/*.md")
		return testing.AllocsPerRun(5, func() {
			if _, got, err := Prune(t.Context(), tree, patterns); err != nil || got != n {
				t.Fatal(got, err)
			}
		})
	}
	if few, many := allocations(10), allocations(10_000); many > few+20 {
		t.Errorf("%.0f allocations for 10 files, %.0f for 10,000", few, many)
	}
}
