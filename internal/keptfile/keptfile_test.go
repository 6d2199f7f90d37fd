package keptfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/internal/keptfile"
)

const largest = 1 << 10

func open(t testing.TB, dir string) *keptfile.File {
	t.Helper()
	f, err := keptfile.Open(dir, "state.json", largest)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	f := open(t, dir)
	if data, version, err := f.Read(); data != nil || version != "" || err != nil {
		t.Errorf("got %q, %q, %v", data, version, err)
	}
	if _, err := f.SetAside(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	first, err := f.Write([]byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	if data, version, err := open(t, dir).Read(); string(data) != "one" || version != first || err != nil {
		t.Errorf("got %q, %q, %v", data, version, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, f.Path(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	second, err := f.Write(nil, first) // which is a file without content, and not none
	if err != nil {
		t.Fatal(err)
	}
	if data, version, err := f.Read(); data == nil || len(data) > 0 || version != second || version == "" || err != nil {
		t.Errorf("got %q, %q, %v", data, version, err)
	}
	for _, old := range []string{"", first} {
		if _, err := f.Write([]byte("two"), old); !errors.Is(err, keptfile.ErrConflict) {
			t.Errorf("got %v", err)
		}
		if err := f.Remove(old); !errors.Is(err, keptfile.ErrConflict) {
			t.Errorf("got %v", err)
		}
	}
	aside, err := f.SetAside()
	if info, serr := os.Stat(aside); err != nil || serr != nil || info.Size() != 0 || filepath.Ext(aside) != ".json" {
		t.Errorf("got %q, %v, %v", aside, err, serr)
	}
	third, err := f.Write([]byte("three"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(third); err != nil {
		t.Error(err)
	}
	if data, _, err := f.Read(); data != nil || err != nil {
		t.Errorf("got %q, %v", data, err)
	}
	if err := f.Remove(""); err != nil { // there is none
		t.Error(err)
	}
}

// What is no file of this kind is neither read nor written over.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"a folder":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":         func(path string) error { return os.Symlink("/etc/hosts", path) },
		"too large":      func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", largest+1)), 0o600) },
		"a dead link":    func(path string) error { return os.Symlink("nowhere", path) },
		"a link to file": func(path string) error { return os.Symlink("lock", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, t.TempDir())
			if err := make(f.Path()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.Read(); !errors.Is(err, keptfile.ErrKind) {
				t.Errorf("got %v", err)
			}
			if _, err := f.Write([]byte("x"), ""); !errors.Is(err, keptfile.ErrKind) {
				t.Errorf("got %v", err)
			}
			if err := f.Remove(""); !errors.Is(err, keptfile.ErrKind) {
				t.Errorf("got %v", err)
			}
			if _, err := f.SetAside(); err != nil {
				t.Error(err)
			}
			if _, err := f.Write([]byte("x"), ""); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := open(t, t.TempDir()).Write([]byte(strings.Repeat("x", largest+1)), ""); err == nil {
		t.Error("more was written than can be read")
	}
}

// Of those who write at once, from the same version, one does.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := ""
	for round := range 20 {
		versions, errs := make([]string, 8), make([]error, 8)
		var all sync.WaitGroup
		for i := range versions {
			all.Go(func() { versions[i], errs[i] = open(t, dir).Write(fmt.Appendf(nil, "%d %d", round, i), version) })
		}
		all.Wait()
		won, next := 0, ""
		for i, err := range errs {
			switch {
			case err == nil:
				won++
				next = versions[i]
			case !errors.Is(err, keptfile.ErrConflict):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Fatalf("%d have written", won)
		}
		version = next
	}
}
