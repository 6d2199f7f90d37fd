package scratch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/internal/scratch"
)

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

// What nobody holds is removed; what somebody works in, what has another name, and
// what is no folder, are left.
func TestMakeSweeps(t *testing.T) {
	t.Parallel()
	place := scratch.Place{Dir: t.TempDir(), Prefix: "pharos-test-"}
	used, err := place.Make("src", "out")
	if err != nil {
		t.Fatal(err)
	}
	inUse := used.Path("src", "file")
	left := filepath.Join(place.Dir, "pharos-test-4294967295")
	other := filepath.Join(place.Dir, "pharos-other-1")
	named := filepath.Join(place.Dir, "pharos-test-1-mine")
	word := filepath.Join(place.Dir, "pharos-test-mod")
	none := filepath.Join(place.Dir, "pharos-test-")
	file := filepath.Join(place.Dir, "pharos-test-2")
	link := filepath.Join(place.Dir, "pharos-test-3")
	for _, dir := range []string{left, other, named, word, none} {
		if err := os.MkdirAll(filepath.Join(dir, "deep", "er"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{inUse, file, filepath.Join(left, "deep", "x")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	second, err := place.Make()
	if err != nil {
		t.Fatal(err)
	}
	if exists(t, left) {
		t.Error("what a killed process left is still there")
	}
	for _, path := range []string{inUse, used.Path("out"), other, named, word, none, file, link, second.Path()} {
		if !exists(t, path) {
			t.Errorf("%s is gone", path)
		}
	}
	for _, f := range []*scratch.Folder{used, second} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
		if exists(t, f.Path()) {
			t.Errorf("%s is still there", f.Path())
		}
	}
}

// Only this user can look into it, and its path has no links in it.
func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	f, err := scratch.Place{Dir: link, Prefix: "x-"}.Make("in")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.Path(), f.Path("in")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}
	resolved, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(f.Path()) != resolved {
		t.Errorf("it is in %s, want %s", f.Path(), resolved)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := (scratch.Place{Dir: filepath.Join(dir, "gone"), Prefix: "x-"}).Make(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}
