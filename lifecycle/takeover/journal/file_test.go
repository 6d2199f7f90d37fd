package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

func open(t testing.TB, dir string) *journal.File {
	t.Helper()
	f, err := journal.OpenFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "takeover")
	f := open(t, dir)
	if _, version, err := f.Load(); !errors.Is(err, journal.ErrNone) || version != "" {
		t.Errorf("got %q, %v", version, err)
	}
	d := document("pharos")
	first, err := f.Save(d, "")
	if err != nil {
		t.Fatal(err)
	}
	got, version, err := open(t, dir).Load()
	if err != nil || version != first || !reflect.DeepEqual(got, d) {
		t.Errorf("got %+v, %q, %v", got, version, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, f.Path(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	d.Step = journal.Serving
	if _, err := f.Save(d, ""); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
	second, err := f.Save(d, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Save(d, first); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if err := f.Remove(first); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if err := f.Remove(second); err != nil {
		t.Error(err)
	}
	if _, _, err := f.Load(); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	d.Holder = ""
	if _, err := f.Save(d, ""); !errors.Is(err, journal.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := journal.OpenFile(""); !errors.Is(err, journal.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// What cannot be read is never written over, nor lost.
func TestDamagedFileIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content string
		later   bool
	}{"damaged": {"{", false}, "empty": {"", false}, "later": {`{"version":2,"more":true}`, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, t.TempDir())
			if _, err := f.SetAside(); !errors.Is(err, journal.ErrNone) {
				t.Errorf("got %v", err)
			}
			if err := os.WriteFile(f.Path(), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, version, err := f.Load()
			if !errors.Is(err, journal.ErrDamaged) || errors.Is(err, journal.ErrLater) != tt.later || version != "" || !strings.Contains(err.Error(), f.Path()) {
				t.Errorf("got %q, %v", version, err)
			}
			if _, err := f.Save(document("pharos"), version); !errors.Is(err, journal.ErrConflict) {
				t.Errorf("got %v", err)
			}
			if err := f.Remove(version); !errors.Is(err, journal.ErrConflict) {
				t.Errorf("got %v", err)
			}
			aside, err := f.SetAside()
			if err != nil {
				t.Fatal(err)
			}
			if content, err := os.ReadFile(aside); err != nil || string(content) != tt.content {
				t.Errorf("it is %q, %v", content, err)
			}
			if _, err := f.Save(document("pharos"), ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// Something else than a file is left alone.
func TestFolderInItsPlace(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	if err := os.Mkdir(f.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Load(); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Save(document("pharos"), ""); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// Of those who write at once, from the same version, one does.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := ""
	for round := range 20 {
		versions := make([]string, 8)
		errs := make([]error, 8)
		var all sync.WaitGroup
		for i := range versions {
			all.Go(func() {
				d := document("pharos")
				d.Token = int64(round*100 + i)
				versions[i], errs[i] = open(t, dir).Save(d, version)
			})
		}
		all.Wait()
		won := 0
		next := ""
		for i, err := range errs {
			switch {
			case err == nil:
				won++
				next = versions[i]
			case !errors.Is(err, journal.ErrConflict):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Fatalf("%d have written", won)
		}
		version = next
	}
}
