package atomicfile_test

import (
	"os"
	"path/filepath"
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
