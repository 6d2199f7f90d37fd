package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"

	"github.com/pharos-dev/pharos/catalogue/source"
)

var sample = map[string]source.File{
	"Dockerfile": {Content: "FROM scratch\n"},
	// Git sorts the folder a behind a.txt, BuildKit wants it before.
	"a.txt": {Content: "1"}, "a/b": {Content: "22"}, "a/c/d": {Content: "333"}, "a-b/x": {Content: ""},
	"run": {Content: "#!", Mode: source.ModeExecutable}, "link": {Content: "a/c", Mode: source.ModeSymlink}, "z/up": {Content: "../a.txt", Mode: source.ModeSymlink},
}

// walked is what a walk shows, but for times and owners.
func walked(t *testing.T, f fsutil.FS, target string) []string {
	t.Helper()
	var all []string
	err := f.Walk(t.Context(), target, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			all = append(all, fmt.Sprintf("%s: %t", name, errors.Is(err, fs.ErrNotExist)))
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s, ok := info.Sys().(*types.Stat)
		if !ok {
			return fmt.Errorf("%s has no stat", name)
		}
		all = append(all, fmt.Sprintf("%s %s %s %d %s", name, s.Path, fs.FileMode(s.Mode), s.Size, s.Linkname))
		return nil
	})
	if err != nil {
		all = append(all, "error")
	}
	return all
}

// exported is the sample, and its export as BuildKit's own client shows it.
func exported(t *testing.T) (source.Tree, fsutil.FS) {
	t.Helper()
	tree, err := source.FromFiles(sample)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := source.Export(t.Context(), tree, dir); err != nil {
		t.Fatal(err)
	}
	onDisk, err := fsutil.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree, onDisk
}

// The tree looks as its export does to BuildKit's own client.
func TestContextIsWhatAnExportIs(t *testing.T) {
	t.Parallel()
	tree, onDisk := exported(t)
	ours := newContextFS(t.Context(), tree, 0)
	for _, target := range []string{"/", "", "a", "a/c/", "a.txt", "link", "gone", "a/gone"} {
		if d := cmp.Diff(withoutSizes(walked(t, onDisk, target)), withoutSizes(walked(t, ours, target))); d != "" {
			t.Errorf("walk %q (-disk +tree)\n%s", target, d)
		}
	}
	for _, filter := range []*fsutil.FilterOpt{
		{FollowPaths: []string{"link", "a.txt"}}, {FollowPaths: []string{"z/*"}}, {IncludePatterns: []string{"a/**"}}, {ExcludePatterns: []string{"a", "!a/c"}},
	} {
		var got [2][]string
		for i, f := range []fsutil.FS{onDisk, ours} {
			filtered, err := fsutil.NewFilterFS(f, filter)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = withoutSizes(walked(t, filtered, "/"))
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("%+v (-disk +tree)\n%s", filter, d)
		}
	}
	for name, f := range sample {
		if f.Mode == source.ModeSymlink {
			continue
		}
		r, err := ours.Open(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != f.Content {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
}

// withoutSizes leaves out the sizes of folders, which are the file system's.
func withoutSizes(lines []string) []string {
	for i, line := range lines {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(fields[2], "d") {
			lines[i] = strings.Join(fields[:3], " ")
		}
	}
	return lines
}

// A function that skips sees no more than it would of a file system.
func TestContextSkips(t *testing.T) {
	t.Parallel()
	tree, onDisk := exported(t)
	for _, at := range []string{"a", "a/b", "a.txt", "run"} {
		for _, skip := range []error{fs.SkipDir, fs.SkipAll} {
			var got [2][]string
			for i, f := range []fsutil.FS{onDisk, newContextFS(t.Context(), tree, 0)} {
				if err := f.Walk(t.Context(), "/", func(name string, _ fs.DirEntry, err error) error {
					got[i] = append(got[i], name)
					if name == at {
						return skip
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("%v at %s: %q on disk, %q of the tree", skip, at, got[0], got[1])
			}
		}
	}
}

// A file that cannot be read is no empty file.
func TestContextOfMissingObjects(t *testing.T) {
	t.Parallel()
	tree, err := source.FromFiles(map[string]source.File{"a": {Content: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	f := newContextFS(t.Context(), source.Tree{ID: tree.ID, Objects: withoutBlobs{tree.Objects}}, 0)
	for _, name := range []string{"a", "gone", "."} {
		r, err := f.Open(name)
		if err != nil {
			t.Fatalf("%s: %v: BuildKit's client would send an empty file", name, err)
		}
		if _, err := io.ReadAll(r); err == nil {
			t.Errorf("%s could be read", name)
		}
	}
	if err := f.Walk(t.Context(), "/", func(string, fs.DirEntry, error) error { return nil }); !errors.Is(err, os.ErrPermission) {
		t.Errorf("walked it, %v", err)
	}
}

type withoutBlobs struct{ source.Objects }

func (withoutBlobs) Blob(context.Context, source.ID) (io.ReadCloser, int64, error) {
	return nil, 0, os.ErrPermission
}

// Files and folders are not older than the epoch, which is all that the exporter
// can set them to, and as little newer as can be.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, epoch := range []int64{0, 1, earliest, 1_700_000_000} {
		from := max(epoch, earliest) * 1e9
		seen := map[int64]string{}
		for i := range 10_000 {
			id := source.HashBlob(fmt.Append(nil, i))
			at, err := timeOf(id, epoch)
			if err != nil || at < from || at >= from+int64(24*time.Hour) || seen[at] != "" {
				t.Fatalf("%s has the time %d for the epoch %d, %v, as %q", id, at, epoch, err, seen[at])
			}
			seen[at] = string(id)
		}
		tree, err := source.FromFiles(sample)
		if err != nil {
			t.Fatal(err)
		}
		if err := newContextFS(t.Context(), tree, epoch).Walk(t.Context(), "/", func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && info.ModTime().UnixNano() < from {
				t.Errorf("%s has the time %v for the epoch %d", name, info.ModTime(), epoch)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []source.ID{"", "12", "zzzzzzzzzzzzzzzzzzzz"} {
		if _, err := timeOf(id, 0); err == nil {
			t.Errorf("%q has a time", id)
		}
	}
}
