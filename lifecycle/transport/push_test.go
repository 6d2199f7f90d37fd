package transport_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

func TestPushInputs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, format), checkout(t, format)
			tree := pruned(t, dir, "api", "go.mod", "!api/deep/er/**")
			r := remote(t, transport.Config{URL: s.url, Dir: dir})

			in := push(t, r, tree)
			s.holds(in)
			if in.Commit != transport.InputsCommit(tree.ID) || in.Ref != transport.InputsRef(tree.ID) || !in.Sent {
				t.Errorf("pushed %+v", in)
			}
			// The commit, the root, api, api/deep, and three files.
			if objects, packs := s.sent(); objects != 7 || packs != 1 {
				t.Errorf("%d objects were sent in %d packs", objects, packs)
			}

			if in = push(t, r, tree); in.Sent {
				t.Error("it was said to be sent again")
			}
			if _, packs := s.sent(); packs != 0 {
				t.Error("it was sent again")
			}
		})
	}
}

// What the server holds by an earlier push is not sent, whoever pushes from the
// checkout.
func TestOnlyTheDifferenceIsSent(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), pruned(t, dir, "api", "libs"))
	s.sent()

	write(t, dir, "api/deep/y.go", "edited\n")
	in := push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), pruned(t, dir, "api", "libs"))
	s.holds(in)
	// The commit, the root, api, api/deep and y.go.
	if objects, _ := s.sent(); objects != 5 {
		t.Errorf("%d objects were sent after an edit", objects)
	}

	in = push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), pruned(t, dir, "api"))
	s.holds(in)
	if objects, _ := s.sent(); objects != 2 { // the commit and the root
		t.Errorf("%d objects were sent of a part", objects)
	}
}

// What the server holds by the history is not sent either.
func TestHistoryIsNotSent(t *testing.T) {
	t.Parallel()
	for name, depth := range map[string]string{"whole": "", "shallow": "--depth=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, "sha1"), checkout(t, "sha1")
			write(t, dir, "libs/a.go", "another\n")
			git(t, dir, "commit", "-qam", "a second commit")
			git(t, dir, "push", "-q", s.dir, "main")
			clone := filepath.Join(t.TempDir(), "clone")
			args := []string{"clone", "-q", "-b", "main"}
			if depth != "" {
				args = append(args, depth)
			}
			git(t, ".", append(args, "file://"+s.dir, clone)...)
			in := push(t, remote(t, transport.Config{URL: s.url, Dir: clone}), pruned(t, clone, "api", "libs/a.go"))
			s.holds(in)
			if objects, _ := s.sent(); objects != 3 { // the commit, the root and libs
				t.Errorf("%d objects were sent", objects)
			}
		})
	}
}

// A tree need not be of a checkout.
func TestTreeOfMemory(t *testing.T) {
	t.Parallel()
	s := newServer(t, "sha1")
	m := source.NewMemory()
	sub, err := m.PutTree([]source.Entry{{Name: "run", Mode: source.ModeExecutable, ID: m.PutBlob([]byte("#!/bin/sh\n"))}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := m.PutTree([]source.Entry{
		{Name: "a", Mode: source.ModeFile, ID: m.PutBlob(nil)},
		{Name: "bin", Mode: source.ModeDir, ID: sub},
		{Name: "link", Mode: source.ModeSymlink, ID: m.PutBlob([]byte("bin/run"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.holds(push(t, remote(t, transport.Config{URL: s.url, Folder: t.TempDir()}), source.Tree{ID: root, Objects: m}))
}

// A tree whose objects are gone from the checkout, but for the tree itself, is
// completed from where it is read.
func TestTreeOfWhichAPartIsGone(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	tree := pruned(t, dir)
	m := source.NewMemory()
	copyTree(t, m, tree)
	e, err := tree.Lookup(t.Context(), "libs/b.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".git", "objects", string(e.ID[:2]), string(e.ID[2:]))); err != nil {
		t.Fatal(err)
	}
	s.holds(push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), source.Tree{ID: tree.ID, Objects: m}))
}

func copyTree(t *testing.T, to *source.MemoryObjects, tree source.Tree) {
	t.Helper()
	put := func(id source.ID) {
		entries, err := tree.Objects.Tree(t.Context(), id)
		if err == nil {
			_, err = to.PutTree(entries)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(tree.ID)
	err := tree.Walk(t.Context(), func(path string, e source.Entry) error {
		if e.Mode == source.ModeDir {
			put(e.ID)
			return nil
		}
		content, err := tree.ReadFile(t.Context(), path)
		to.PutBlob(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Several push at once: the same, and others.
func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	trees := []source.Tree{pruned(t, dir, "api"), pruned(t, dir, "libs"), pruned(t, dir, "api", "libs")}
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			r, err := transport.New(transport.Config{URL: s.url, Dir: dir, Env: testEnv()})
			if err == nil {
				_, err = r.PushInputs(t.Context(), trees[i%len(trees)])
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, tree := range trees {
		s.holds(transport.Inputs{Tree: tree.ID, Commit: transport.InputsCommit(tree.ID)})
	}
}

// A reference that somebody has put elsewhere is put right.
func TestWrongReference(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	tree := pruned(t, dir, "api")
	git(t, dir, "push", "-q", s.dir, "main:"+transport.InputsRef(tree.ID))
	s.holds(push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), tree))
}

func TestInputsCommit(t *testing.T) {
	t.Parallel()
	for _, tree := range []source.ID{
		"4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		"6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
	} {
		format := map[int]string{40: "sha1", 64: "sha256"}[len(tree)]
		dir := t.TempDir()
		git(t, dir, "init", "-q", "--object-format="+format)
		if err := os.WriteFile(filepath.Join(dir, "commit"), fmt.Appendf(nil,
			"tree %s\nauthor Pharos <> 0 +0000\ncommitter Pharos <> 0 +0000\n\nThe inputs of an image\n", tree), 0o600); err != nil {
			t.Fatal(err)
		}
		want := source.ID(git(t, dir, "hash-object", "-t", "commit", "--literally", "commit"))
		if got := transport.InputsCommit(tree); got != want {
			t.Errorf("%s: %s, want %s", tree, got, want)
		}
	}
}
