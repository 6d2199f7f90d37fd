//go:build unix

package worktree

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that git cannot store is an error that names it, never passed over.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	remove(t, dir, "d/a")
	if err := syscall.Mkfifo(filepath.Join(dir, "d", "a"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Snapshot(t.Context(), Config{Dir: dir, Env: testEnv()})
	if err == nil || !strings.Contains(err.Error(), "d/a: unsupported file type") {
		t.Errorf("%v, want git's words about d/a", err)
	}
}
