package transport_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

func removeObject(t *testing.T, dir string, id source.ID) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, ".git", "objects", string(id[:2]), string(id[2:]))); err != nil {
		t.Fatal(err)
	}
}

// bundle writes a bundle of HEAD to a file.
func bundle(t *testing.T, r *transport.Remote, dir string, have ...source.ID) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Bundle(t.Context(), &b, transport.BundleRequest{Commit: head(t, dir), Receipt: receiptID("a"), Have: have}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "receipt.bundle")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A bundle that stands for itself is fetched by an empty repository, and one on top
// of it by who has the first; git says so itself.
func TestBundle(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t, format)
			r := remote(t, transport.Config{URL: "http://127.0.0.1:1/repo.git", Dir: dir}) // it asks nobody
			first := head(t, dir)
			server := t.TempDir()
			git(t, server, "init", "-q", "--bare", "--object-format="+format)
			take := func(file string) {
				t.Helper()
				git(t, server, "bundle", "verify", "-q", file)
				git(t, server, "fetch", "-q", file, "+refs/pharos/*:refs/pharos/*")
				if got := git(t, server, "rev-parse", transport.ReceiptRef(receiptID("a"))); got != string(head(t, dir).ID) {
					t.Errorf("the reference is %s", got)
				}
				git(t, server, "fsck", "--strict", "--no-dangling")
			}
			complete := bundle(t, r, dir)
			take(complete)

			write(t, dir, "libs/a.go", "edited\n")
			git(t, dir, "commit", "-qam", "an edit")
			thin := bundle(t, r, dir, first.ID)
			take(thin)
			if a, b := len(read(t, complete)), len(read(t, thin)); b >= a {
				t.Errorf("what is on top has %d bytes, and all of it %d", b, a)
			}
			err := r.Bundle(t.Context(), &bytes.Buffer{}, transport.BundleRequest{Commit: head(t, dir), Receipt: receiptID("a"), Have: []source.ID{head(t, dir).ID}})
			if !errors.Is(err, transport.ErrNothingToBundle) {
				t.Errorf("of what is there: %v", err)
			}
		})
	}
}

// A bundle of a history that ends in the middle could not be read by anybody.
func TestBundleShallow(t *testing.T) {
	t.Parallel()
	dir := checkout(t, "sha1")
	first := head(t, dir)
	write(t, dir, "libs/a.go", "another\n")
	git(t, dir, "commit", "-qam", "a second commit")
	second := head(t, dir)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, ".", "clone", "-q", "--depth=1", "file://"+dir, clone)
	write(t, clone, "libs/b.go", "edited\n")
	git(t, clone, "commit", "-qam", "on top")
	r := remote(t, transport.Config{URL: "http://127.0.0.1:1/repo.git", Dir: clone})
	err := r.Bundle(t.Context(), &bytes.Buffer{}, transport.BundleRequest{Commit: head(t, clone), Receipt: receiptID("a")})
	if !errors.Is(err, transport.ErrIncomplete) || !strings.Contains(err.Error(), "--unshallow") {
		t.Errorf("complete: %v", err)
	}
	file := bundle(t, r, clone, second.ID)
	git(t, dir, "bundle", "verify", "-q", file)
	git(t, dir, "fetch", "-q", file, "refs/pharos/*:refs/pharos/*")
	git(t, dir, "fsck", "--strict")
	err = r.Bundle(t.Context(), &bytes.Buffer{}, transport.BundleRequest{Commit: head(t, clone), Receipt: receiptID("a"), Have: []source.ID{first.ID}})
	var failed *lifecycle.Error
	if !errors.As(err, &failed) {
		t.Errorf("on top of what the clone does not have: %v", err)
	}
}

// A disk that is full is said as such.
func TestBundleToAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := checkout(t, "sha1")
	r := remote(t, transport.Config{URL: "http://127.0.0.1:1/repo.git", Dir: dir})
	err = r.Bundle(t.Context(), full, transport.BundleRequest{Commit: head(t, dir), Receipt: receiptID("a")})
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, lifecycle.ErrUnreachable) || errors.Is(err, transport.ErrIncomplete) {
		t.Errorf("error %v", err)
	}
}
