package atomicfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pharos-dev/pharos/internal/atomicfile"
)

func TestWriteReplaces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"old", "new"} {
		if err := atomicfile.Write(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != content {
			t.Fatalf("read %q, %v, want %q", got, err, content)
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v lets others in", info.Mode())
	}
}

func TestWriteFailureLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	target := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(target, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(target, []byte("x")); err == nil {
		t.Fatal("a folder was replaced by a file")
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Fatalf("left %v, %v, want only the folder that was there", left, err)
	}
}

func TestReplaceKeepsPermissions(t *testing.T) {
	folder := t.TempDir()
	name, plain := filepath.Join(folder, "f"), filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	ordinary, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	wantMode := ordinary.Mode()
	for _, content := range []string{"new", "other"} {
		if err := atomicfile.Replace(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode() != wantMode {
			t.Errorf("%s: mode %v, error %v, want %v", content, info.Mode(), err, wantMode)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != content {
			t.Errorf("read %q, %v, want %q", got, err, content)
		}
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err = os.Stat(name); err != nil {
			t.Fatal(err)
		}
		wantMode = info.Mode()
	}
}

func TestReplaceRemovesWhatWasLeft(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{".f.tmp-1", ".f.tmp-99999", ".tmp-theirs", ".g.tmp-1", ".f.tmp-mine", ".f.tmp-", ".f.tmp-2.bak"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, ".f.tmp-3"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Replace(filepath.Join(folder, "f"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".f.tmp-", ".f.tmp-2.bak", ".f.tmp-3", ".f.tmp-mine", ".g.tmp-1", ".tmp-theirs", "f"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
}
