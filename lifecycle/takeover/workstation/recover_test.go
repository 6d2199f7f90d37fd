package workstation_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// What is to run from a checkout that was deleted meanwhile does not bring it back.
func TestStartMakesNoCheckout(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "shop")
	w, err := workstation.New(workstation.Config{REST: &rest.Config{}, Root: root, Folder: filepath.Join(root, ".git", "pharos"), Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(t.Context(), takeover.StartRequest{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the checkout is there again: %v", err)
	}
}

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
