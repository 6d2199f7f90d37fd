package treefiles_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/treefiles"
)

func TestList(t *testing.T) {
	t.Parallel()
	tree, err := source.FromFiles(map[string]source.File{
		"b": {}, "a/x": {}, "a.txt": {Mode: source.ModeExecutable}, "link": {Content: "b", Mode: source.ModeSymlink}, "a/deep/er": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := treefiles.List(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	if d := cmp.Diff([]string{"a.txt", "a/deep/er", "a/x", "b", "link"}, got); d != "" {
		t.Error(d)
	}
	if files[0].Mode != source.ModeExecutable || files[4].Mode != source.ModeSymlink {
		t.Errorf("the modes are %v", files)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := treefiles.List(ctx, tree); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is over: %v", err)
	}
}

// Each directory holds the one below it ten times.
func TestListRefusesATreeThatNeverEnds(t *testing.T) {
	t.Parallel()
	m := source.NewMemory()
	at, err := m.PutTree([]source.Entry{{Name: "f", Mode: source.ModeFile, ID: m.PutBlob(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		var entries []source.Entry
		for name := 'a'; name <= 'j'; name++ {
			entries = append(entries, source.Entry{Name: string(name), Mode: source.ModeDir, ID: at})
		}
		if at, err = m.PutTree(entries); err != nil {
			t.Fatal(err)
		}
	}
	_, err = treefiles.List(t.Context(), source.Tree{ID: at, Objects: m})
	if _, ok := errors.AsType[*catalogue.TooLargeError](err); !ok || !errors.Is(err, source.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
