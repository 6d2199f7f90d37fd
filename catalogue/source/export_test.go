package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fromFiles(t testing.TB, files map[string]File) Tree {
	t.Helper()
	tree, err := FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func link(target string) File { return File{Content: target, Mode: ModeSymlink} }

func TestExportReportsAllThatItCannotWrite(t *testing.T) {
	t.Parallel()
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 5\n"
	module := strings.Repeat("ab", 20)
	for name, files := range map[string]map[string]File{
		"pointer alone": {"ok": {Content: "x"}, "d/p": {Content: pointer}},
		"submodule":     {"ok": {Content: "x"}, "m": {Content: module, Mode: ModeSubmodule}},
		"absolute link": {"ok": {Content: "x"}, "l": link("/etc/passwd")},
		"all of them": {"ok": {Content: "x"}, "d/p": {Content: pointer}, "m": {Content: module, Mode: ModeSubmodule},
			"l": link("/etc/passwd"), "d/up": link("../.."), "d/q": {Content: pointer}},
	} {
		to := filepath.Join(t.TempDir(), "to")
		err := Export(t.Context(), fromFiles(t, files), to)
		for path, f := range files {
			var want error
			switch {
			case f.Content == pointer:
				want = ErrLFS
			case f.Mode == ModeSubmodule:
				want = ErrSubmodule
			case f.Mode == ModeSymlink:
				want = ErrSymlink
			default:
				continue
			}
			if !errors.Is(err, want) || !strings.Contains(err.Error(), path+" ") {
				t.Errorf("%s: %s: %v", name, path, err)
			}
			if f.Mode == ModeSymlink && !strings.Contains(err.Error(), f.Content) {
				t.Errorf("%s: the target of %s is not named: %v", name, path, err)
			}
		}
		if got := strings.Count(err.Error(), "\n") + 1; got != len(files)-1 {
			t.Errorf("%s: %d findings: %v", name, got, err)
		}
	}
}

func TestExportFollowsLinksAsAKernelDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		links  map[string]string
		leaves string // the one that does
	}{
		"within":               {map[string]string{"d/l": "../f", "l": "d/../f"}, ""},
		"the root":             {map[string]string{"d/l": ".."}, ""},
		"dangling":             {map[string]string{"l": "none/at/all"}, ""},
		"dangling and out":     {map[string]string{"l": "none/../.."}, "l"},
		"a circle":             {map[string]string{"l": "m", "m": "l", "s": "s"}, ""},
		"one up":               {map[string]string{"l": ".."}, "l"},
		"out and in again":     {map[string]string{"l": "../to/f"}, "l"},
		"through another link": {map[string]string{"d/e/up": "../..", "l": "d/e/up/.."}, "l"},
		"through three":        {map[string]string{"a": "d/b", "d/b": "c/up", "d/c/up": "../../..", "d/c/f": "f"}, "d/c/up"},
		"in a linked folder":   {map[string]string{"d/e/g/up": "..", "k": "d/e/g", "l": "k/up/../../.."}, "l"},
		"doubled slashes":      {map[string]string{"l": ".//.//../"}, "l"},
	} {
		files := map[string]File{"f": {Content: "x"}, "d/f": {Content: "x"}}
		for l, target := range c.links {
			files[l] = link(target)
		}
		to := filepath.Join(t.TempDir(), "to")
		err := Export(t.Context(), fromFiles(t, files), to)
		if c.leaves != "" {
			if !errors.Is(err, ErrSymlink) || !strings.Contains(err.Error(), c.leaves+" ") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for l, target := range c.links {
			if got, err := os.Readlink(filepath.Join(to, l)); err != nil || got != target {
				t.Errorf("%s: %s is %q, %v", name, l, got, err)
			}
		}
	}
}

func TestExportWritesModesOfItsOwn(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "new", "to")
	err := Export(t.Context(), fromFiles(t, map[string]File{"d/f": {Content: "x"}, "x": {Mode: ModeExecutable}}), to)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"d": fs.ModeDir | 0o755, "d/f": 0o644, "x": 0o755} {
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestExportNeedsAnEmptyFolder(t *testing.T) {
	t.Parallel()
	tree := fromFiles(t, map[string]File{"f": {Content: "x"}})
	to := t.TempDir()
	if err := Export(t.Context(), tree, to); err != nil {
		t.Fatal(err)
	}
	if err := Export(t.Context(), tree, to); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), to) {
		t.Error(err)
	}
	if err := Export(t.Context(), tree, filepath.Join(to, "f")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestExportEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Export(ctx, fromFiles(t, map[string]File{"f": {Content: "x"}}), filepath.Join(t.TempDir(), "to"))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
