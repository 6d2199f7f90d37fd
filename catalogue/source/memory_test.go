package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestFromFilesMakesGitsTree(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	randomise(t, rand.New(rand.NewPCG(7, 7)), dir)
	write(t, dir, "always", "x")
	commit(t, dir, "first")
	tree := head(t, dir).Tree
	files := map[string]File{}
	err := tree.Walk(t.Context(), func(path string, e Entry) error {
		if e.Mode == ModeDir {
			return nil
		}
		b, _, err := tree.Objects.Blob(t.Context(), e.ID)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(b)
		files[path] = File{Content: string(content), Mode: e.Mode}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	made := fromFiles(t, files)
	if made.ID != tree.ID {
		t.Errorf("%s, want %s", made.ID, tree.ID)
	}
	exportAsGit(t, dir, made)
}

func TestFromFilesRefusesWhatIsNoTree(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]File{
		"an empty path":        {"": {}},
		"a slash at its end":   {"a/": {}},
		"a slash before it":    {"/a": {}},
		"up":                   {"a/../b": {}},
		"git's folder":         {"a/.git/config": {}},
		"a file and a folder":  {"a": {}, "a/b": {}},
		"a folder's mode":      {"a": {Mode: ModeDir}},
		"no mode":              {"a": {Mode: 0o777}},
		"a submodule of no ID": {"a": {Mode: ModeSubmodule, Content: "x"}},
	} {
		if _, err := FromFiles(files); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTreePaths(t *testing.T) {
	t.Parallel()
	tree := fromFiles(t, map[string]File{"a/f": {Content: "1"}, "a.b": {Content: "2"}, "a-": {Content: "3"}, "l": link("a"), "b/c/d": {Content: "4"}})
	for name, want := range map[string]string{"a/f": "1", "a.b": "2", "a-": "3", "b/c/d": "4"} {
		if got, err := tree.ReadFile(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", ".", "a", "l", "l/f", "a/f/g", "a/", "/a", "./a", "a//f", "../a", "b/../a.b", "x", "a/x"} {
		if got, err := tree.ReadFile(t.Context(), name); !errors.Is(err, ErrNotFound) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "."} {
		if e, err := tree.Lookup(t.Context(), name); err != nil || e != (Entry{Mode: ModeDir, ID: tree.ID}) {
			t.Errorf("%q: %v, %v", name, e, err)
		}
		if entries, err := tree.ReadDir(t.Context(), name); err != nil || len(entries) != 5 {
			t.Errorf("%q: %v, %v", name, entries, err)
		}
	}
	if _, err := tree.ReadDir(t.Context(), "a.b"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	var seen []string
	err := tree.Walk(t.Context(), func(path string, _ Entry) error {
		seen = append(seen, path)
		if path == "b/c" {
			return SkipDir
		}
		return nil
	})
	if want := []string{"a-", "a.b", "a", "a/f", "b", "b/c", "l"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, %v", seen, err)
	}
	stop := errors.New("stop")
	if err := tree.Walk(t.Context(), func(string, Entry) error { return stop }); err != stop {
		t.Error(err)
	}
}

func TestDiffFromNothing(t *testing.T) {
	t.Parallel()
	tree := fromFiles(t, map[string]File{"a/f": {}, "g": {}})
	for _, c := range []struct{ a, b Tree }{{Tree{}, tree}, {tree, Tree{}}} {
		changes, err := Diff(t.Context(), c.a, c.b)
		if err != nil || len(changes) != 2 || changes[0].Path != "a/f" || changes[1].Path != "g" {
			t.Errorf("%v, %v", changes, err)
		}
	}
}

func TestOverlayAndConcurrency(t *testing.T) {
	t.Parallel()
	under, over := NewMemory(), NewMemory()
	below := under.PutBlob([]byte("below"))
	var g sync.WaitGroup
	ids := make([]ID, 20)
	for i := range ids {
		g.Go(func() {
			id, err := over.PutTree([]Entry{{"b", ModeDir, below}, {"a", ModeFile, over.PutBlob(fmt.Append(nil, i))}})
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	g.Wait()
	objects := Overlay(over, under)
	for i, id := range ids {
		tree := Tree{id, objects}
		if got, err := tree.ReadFile(t.Context(), "a"); err != nil || string(got) != fmt.Sprint(i) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if b, size, err := objects.Blob(t.Context(), below); err != nil || size != 5 || b.Close() != nil {
		t.Error(size, err)
	}
	if _, _, err := objects.Blob(t.Context(), ids[0]); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := objects.Tree(t.Context(), below); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := over.PutTree([]Entry{{"a", ModeFile, below}, {"a", ModeDir, below}}); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

// TestLinks keeps the package cheap for those who only want to read a tree.
func TestLinks(t *testing.T) {
	t.Parallel()
	cmd := goList(t)
	for pkg := range strings.FieldsSeq(cmd) {
		for _, bad := range []string{"k8s.io/", "sigs.k8s.io/", "net/http", "golang.org/x/crypto/ssh", "github.com/ProtonMail/"} {
			if strings.HasPrefix(pkg, bad) {
				t.Errorf("%s is linked", pkg)
			}
		}
	}
	if !strings.Contains(cmd, "github.com/klauspost/compress/flate") {
		t.Error("the list of packages is not one")
	}
}
