package catalogue

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

// nested puts a directory into width entries of another one, and that into
// another, and returns the outermost. at gives what else each one holds.
func nested(t *testing.T, objects *source.MemoryObjects, inner source.ID, levels, width int, at func(level int) []source.Entry) source.Tree {
	t.Helper()
	for level := range levels {
		var entries []source.Entry
		for i := range width {
			entries = append(entries, source.Entry{Name: fmt.Sprintf("d%d", i), Mode: source.ModeDir, ID: inner})
		}
		if at != nil {
			entries = append(entries, at(level)...)
		}
		var err error
		if inner, err = objects.PutTree(entries); err != nil {
			t.Fatal(err)
		}
	}
	return source.Tree{ID: inner, Objects: objects}
}

func putTree(t *testing.T, objects *source.MemoryObjects, entries ...source.Entry) source.ID {
	t.Helper()
	id, err := objects.PutTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantTooLarge(t *testing.T, name string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*TooLargeError](err); !ok || !errors.Is(err, source.ErrTooLarge) || e.Limit == 0 {
		t.Errorf("%s: %v", name, err)
	}
}

func TestPruneRefusesTreeBombs(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	link := source.Entry{Name: "l", Mode: source.ModeSymlink, ID: objects.PutBlob([]byte("f"))}
	f := source.Entry{Name: "f", Mode: source.ModeFile, ID: objects.PutBlob(nil)}
	long := source.Entry{Name: "l", Mode: source.ModeSymlink, ID: objects.PutBlob([]byte(strings.Repeat("./", 2000) + "f"))}
	with := func(entries ...source.Entry) func(int) []source.Entry {
		return func(int) []source.Entry { return entries }
	}
	leaf := putTree(t, objects, f)
	for name, c := range map[string]struct {
		tree     source.Tree
		patterns string
	}{
		"files":       {nested(t, objects, leaf, 400, 10, nil), "**"},
		"directories": {nested(t, objects, putTree(t, objects), 400, 10, with(f)), "**/f"},
		"links":       {nested(t, objects, leaf, 400, 10, with(f, link)), "d0"},
		// The patterns say something else at almost every place, so that what is
		// known of a directory is of no use.
		"cursors":    {nested(t, objects, leaf, 60, 2, nil), "**/d0/" + strings.Repeat("?*/", 40) + "f"},
		"long links": {nested(t, objects, putTree(t, objects, f, long), 4, 10, nil), "**"},
	} {
		_, _, err := Prune(t.Context(), c.tree, mustPatterns(t, c.patterns))
		wantTooLarge(t, name, err)
	}
}

func TestPruneWithinItsLimits(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	f := source.Entry{Name: "f", Mode: source.ModeFile, ID: objects.PutBlob(nil)}
	g := source.Entry{Name: "g", Mode: source.ModeFile, ID: f.ID}
	leaf := putTree(t, objects, f, g)
	// 2 + 4 + … + 2^20 entries are 2 less than the limit, and two trees are as
	// large although one is.
	largest := nested(t, objects, leaf, 19, 2, nil)
	if _, files, err := Prune(t.Context(), largest, mustPatterns(t, "**")); err != nil || files != 1<<20 {
		t.Errorf("%d files, %v", files, err)
	}
	_, _, err := Prune(t.Context(), nested(t, objects, largest.ID, 1, 2, nil), mustPatterns(t, "**"))
	wantTooLarge(t, "twice as large", err)
	// Patterns keep out what is too large.
	half := nested(t, objects, leaf, 18, 2, nil)
	if _, files, err := Prune(t.Context(), nested(t, objects, half.ID, 1, 3, nil), mustPatterns(t, "**", "!d1", "!d2")); err != nil || files != 1<<19 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestPruneReportsNoMoreThanAPersonReads(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	link := source.Entry{Name: "l", Mode: source.ModeSymlink, ID: objects.PutBlob([]byte("gone"))}
	tree := nested(t, objects, putTree(t, objects, link), 5, 10, nil)
	_, _, err := Prune(t.Context(), tree, mustPatterns(t, "**"))
	all := joined.Errors(err)
	if len(all) != maxRefused+1 || !strings.Contains(all[maxRefused].Error(), "more symbolic links") {
		t.Errorf("%d errors, the last is %v", len(all), all[len(all)-1])
	}
	if e, ok := errors.AsType[*SymlinkError](all[0]); !ok || e.Path != "d0/d0/d0/d0/d0/l" {
		t.Errorf("the first is %v", all[0])
	}
}

func TestWalksRefuseTreeBombs(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	yaml := source.Entry{Name: FileName, Mode: source.ModeFile, ID: objects.PutBlob([]byte(shop))}
	small := makeTree(t, file{path: FileName, content: shop})
	bomb := func(inner source.ID) source.Tree {
		id := nested(t, objects, inner, 12, 10, nil).ID
		return source.Tree{ID: putTree(t, objects, yaml, source.Entry{Name: "d", Mode: source.ModeDir, ID: id}), Objects: objects}
	}
	directories := bomb(putTree(t, objects))
	_, err := Check(t.Context(), directories)
	wantTooLarge(t, "Check, directories", err)
	long := putTree(t, objects)
	for range 20 {
		long = putTree(t, objects, source.Entry{Name: strings.Repeat("n", 200), Mode: source.ModeDir, ID: long})
	}
	_, err = Check(t.Context(), bomb(long))
	wantTooLarge(t, "Check, long paths", err)
	_, err = Classify(t.Context(), directories, small, nil)
	wantTooLarge(t, "Classify, what went", err)
	_, err = Classify(t.Context(), small, directories, nil)
	wantTooLarge(t, "Classify, what came", err)
}

// What all images take together is limited, and then none has a fingerprint.
func TestStatesLimitTheirWorkTogether(t *testing.T) {
	t.Parallel()
	c := &Catalogue{Images: []Image{goImage(t), filesImage(t)}}
	tree := makeTree(t, goFiles()...)
	for name, use := range map[string]func(*walker){
		"nothing": func(*walker) {},
		"entries": func(w *walker) { w.maxCut = 0 },
		"steps":   func(w *walker) { w.steps.Store(maxSteps) },
	} {
		w := newWalker(tree.Objects)
		use(w)
		r, err := c.look(t.Context(), w, tree, c.every())
		if name == "nothing" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if wantTooLarge(t, name, err); r != nil {
			t.Errorf("%s: there is a result", name)
		}
	}
}

func TestStepsCountWhatPatternsCost(t *testing.T) {
	t.Parallel()
	names := []source.Entry{{Name: "a"}, {Name: strings.Repeat("b", 127)}}
	for patterns, want := range map[string]int64{
		"**": 2, "a": 2, "a b/c **/d": 6, "*" + strings.Repeat("?*", 32): 2 + 128*65/64, "": 0,
	} {
		if got := mustPatterns(t, strings.Fields(patterns)...).root().steps(names); got != want {
			t.Errorf("%s: %d steps, want %d", patterns, got, want)
		}
	}
}
