package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pharos-dev/pharos/internal/atomicfile"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := atomicfile.Create(name, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Create(name, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want an error that matches fs.ErrExist", err)
	}
	data, err := os.ReadFile(name)
	if err != nil || string(data) != "first" {
		t.Errorf("read %q, %v", data, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, %v, want only the file", left, err)
	}
}

func TestCreateLeavesALinkToNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.Symlink("nothing", name); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Create(name, []byte("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want an error that matches fs.ErrExist", err)
	}
	if target, err := os.Readlink(name); err != nil || target != "nothing" {
		t.Errorf("the link is %q, %v", target, err)
	}
}

// A call that was killed leaves a file among those of the user, which is none.
func TestCreateRemovesWhatWasLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := []string{".f.tmp-mine", ".g.tmp-1", ".tmp-2"}
	for _, name := range append([]string{".f.tmp-1", ".f.tmp-3141592653"}, kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Create(filepath.Join(dir, "f"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := namesIn(t, dir), append(kept, "f"); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
