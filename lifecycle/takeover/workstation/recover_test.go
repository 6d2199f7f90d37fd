package workstation_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// What a killed process has left of its files is wiped, and not what another one needs.
func TestRecover(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	left := filepath.Join(base, fmt.Sprintf("pharos-takeover-%d-LEFT", os.Getuid()))
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{left + ".lock": "", filepath.Join(left, "password"): "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used, err := environment.NewFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = used.Wipe() }()
	w, err := workstation.New(workstation.Config{REST: &rest.Config{}, Root: base, Folder: filepath.Join(base, "own"), Environ: []string{}, Memory: []string{base}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Recover(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is there still: %v", err)
	}
	if _, err := os.Stat(used.Path()); err != nil {
		t.Errorf("what is used is gone: %v", err)
	}
}
