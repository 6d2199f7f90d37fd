package lock_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/lock"
)

func write(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, catalogue.LockFileName), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantFiles wants a folder to hold a lock of the text, or nothing.
func wantFiles(t *testing.T, dir string, text ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(text) {
		t.Fatalf("the folder holds %v, error %v, want %d", entries, err, len(text))
	}
	for _, want := range text {
		got, err := os.ReadFile(filepath.Join(dir, catalogue.LockFileName))
		if err != nil || string(got) != want {
			t.Errorf("the lock is\n%s\nerror %v, want\n%s", got, err, want)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	base, gone := devtest.Registry(t)+"/base:1", "registry.invalid/gone:1"
	now := string(move(t, base, "linux/amd64"))
	image := goImage("api", base)
	canonical := locked(t, base, now)
	for _, tt := range []struct {
		name    string
		tree    string // its lock
		file    string // that of the checkout; like the tree's if empty
		image   string
		want    string
		changed bool
	}{
		{"no file yet", "", "", image, canonical, true},
		{"what is unused goes", locked(t, base, now, gone, old), "", image, canonical, true},
		{"what stands stays", locked(t, base, old), "", image, locked(t, base, old), false},
		{"nothing left", locked(t, gone, old), "", goImage("api", "scratch"), locked(t), true},
		{"the form is kept", strings.Replace(canonical, "# Written", "# Copied", 1), "", image, canonical, true},
		{"line ends are Git's", canonical, strings.ReplaceAll(canonical, "\n", "\r\n"), image, strings.ReplaceAll(canonical, "\n", "\r\n"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.file == "" {
				tt.file = tt.tree
			}
			if tt.file != "" {
				write(t, dir, tt.file)
			}
			r := compare(t, newTree("", tt.tree, tt.image), lock.Options{})
			if changed, err := r.Write(dir); err != nil || changed != tt.changed {
				t.Errorf("changed: %t, error %v, want %t", changed, err, tt.changed)
			}
			wantFiles(t, dir, tt.want)
		})
	}
}

func TestWriteNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := compare(t, newTree("", "", goImage("api", "scratch")), lock.Options{Resolver: noResolver{}})
	if changed, err := r.Write(dir); err != nil || changed {
		t.Errorf("changed: %t, error %v", changed, err)
	}
	wantFiles(t, dir)
}

// What somebody else wrote meanwhile, or what Git ignores, is not overwritten.
func TestWriteOverAnotherLock(t *testing.T) {
	t.Parallel()
	base := devtest.Registry(t) + "/base:1"
	move(t, base, "linux/amd64")
	for what, file := range map[string]string{
		"another digest": locked(t, base, old),
		"no lock":        "<<<<<<< HEAD\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, file)
			_, err := compare(t, newTree("", "", goImage("api", base)), lock.Options{}).Write(dir)
			if !errors.Is(err, lock.ErrChanged) || !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), ".gitignore") {
				t.Errorf("got the error %v", err)
			}
			wantFiles(t, dir, file)
		})
	}
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		_, err := compare(t, newTree("", locked(t, base, old), goImage("api", base)), lock.Options{}).Write(dir)
		if !errors.Is(err, lock.ErrChanged) {
			t.Errorf("got the error %v", err)
		}
		wantFiles(t, dir)
	})
}

func TestWriteWhereNobodyCan(t *testing.T) {
	t.Parallel()
	base := devtest.Registry(t) + "/base:1"
	move(t, base, "linux/amd64")
	r := compare(t, newTree("", "", goImage("api", base)), lock.Options{})
	if changed, err := r.Write(filepath.Join(t.TempDir(), "missing")); changed || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("changed: %t, error %v", changed, err)
	}
}
