package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
