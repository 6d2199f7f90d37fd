//go:build unix

package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Not parallel: the umask is the process's.
func TestExportIsIndependentOfTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	to := filepath.Join(t.TempDir(), "to")
	tree := fromFiles(t, map[string]File{"d/f": {Content: "x"}, "d/x": {Mode: ModeExecutable}})
	if err := Export(t.Context(), tree, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"d": fs.ModeDir | 0o755, "d/f": 0o644, "d/x": 0o755} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s: %v, want %v", name, info.Mode(), want)
		}
	}
}
