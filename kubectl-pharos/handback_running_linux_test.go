package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// A process that still runs beside a journal that cannot be read, which it alone may touch,
// keeps nobody from handing back by force, and waiting for that.
func TestHandBackByForceBesideAProcess(t *testing.T) {
	t.Parallel()
	dir, ns, handback := leftTakenOver(t, true)
	folder := filepath.Join(dir, ".git", "pharos", "takeover")
	if err := os.MkdirAll(filepath.Join(folder, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "journal", "journal.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	process, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(process.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := handback("--force", "--reason", "the disk")
	if code != exitDone || !strings.Contains(errOut, "its process has not ended yet. Run this again once it has") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if image := imageIn(t, devtest.Cluster(t), ns); image != deliveredImage {
		t.Errorf("the image is %s", image)
	}
	if err := process.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := handback("--force", "--reason", "the disk"); code != exitDone || !strings.Contains(errOut, "is kept in "+folder) {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
