package catalogue

import (
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// rootOf is a tree with one entry at its root.
func rootOf(t *testing.T, objects *source.MemoryObjects, entries ...source.Entry) source.Tree {
	t.Helper()
	id, err := objects.PutTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	return source.Tree{ID: id, Objects: objects}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	blob := objects.PutBlob([]byte(header + "neutral: [docs]\n"))
	broken := objects.PutBlob([]byte("kind: [\n"))
	missing := source.ID(strings.Repeat("0", 40))
	entry := func(mode source.Mode, id source.ID) source.Tree {
		return rootOf(t, objects, source.Entry{Name: FileName, Mode: mode, ID: id})
	}
	file := entry(source.ModeFile, blob)

	got, err := Load(t.Context(), file)
	if err != nil || len(got.Neutral.Strings()) != 1 {
		t.Fatalf("got %v, error %v", got, err)
	}
	_, err = Load(t.Context(), entry(source.ModeFile, broken))
	if _, ok := errors.AsType[*ProblemsError](err); !ok || !strings.HasPrefix(err.Error(), "pharos.yaml:") {
		t.Errorf("a broken file: %v", err)
	}
	for name, tree := range map[string]source.Tree{
		"an empty tree": rootOf(t, objects),
		"a folder":      entry(source.ModeDir, file.ID),
		"a link":        entry(source.ModeSymlink, blob),
	} {
		if _, err := Load(t.Context(), tree); !errors.Is(err, ErrNoCatalogue) || !strings.Contains(err.Error(), FileName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, tree := range map[string]source.Tree{
		"a missing root": {ID: missing, Objects: objects},
		"a missing file": entry(source.ModeFile, missing),
	} {
		if _, err := Load(t.Context(), tree); !errors.Is(err, source.ErrNotFound) || errors.Is(err, ErrNoCatalogue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
