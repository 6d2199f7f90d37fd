package source

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A loose object is what a file says: its size, its kind, and its ID by the
// file's name.
func TestLooseObjectsThatLie(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", "blob", "blob \x00", "nope 1\x00x", "blob -1\x00", "blob -9223372036854775808\x00x", "blob 9223372036854775807\x00x",
		"blob 3\x00xxxxxxxx", "blob 5\x00x", "blob 30000000\x00x", "tree -1\x00", "commit -5\x00", "tree 9223372036854775807\x00x",
	} {
		dir := newRepo(t)
		sum := sha1.Sum([]byte(content))
		id := hex.EncodeToString(sum[:])
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		if _, err := z.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, dir, ".git/objects/"+id[:2]+"/"+id[2:], packed.String())
		r := open(t, dir)
		// A blob is no commit, and what is damaged is not unknown.
		c, err := r.Commit(t.Context(), id)
		unknown, damaged := errors.Is(err, ErrUnknownRevision), errors.Is(err, ErrCorrupt) || errors.Is(err, ErrTooLarge)
		if unknown == damaged {
			t.Errorf("%q: %v, %v", content, c, err)
		}
		if entries, err := r.objects.Tree(t.Context(), ID(id)); err == nil {
			t.Errorf("%q: %v", content, entries)
		}
		b, _, err := r.objects.Blob(t.Context(), ID(id))
		if err == nil {
			_, err = io.Copy(io.Discard, b)
			b.Close()
		}
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// A loose object is whole and yet another one's: only its ID tells.
func TestObjectsThatAreOthers(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	large := strings.Repeat("x", MaxFile)
	for name, content := range map[string]string{"a/f": "right", "b/g": "wrong", "large": large + "1", "other": large + "2"} {
		write(t, dir, name, content)
	}
	commit(t, dir, "first")
	loose := func(name string) string {
		id := git(t, dir, "rev-parse", "HEAD:"+name)
		return filepath.Join(dir, ".git", "objects", id[:2], id[2:])
	}
	replaced := map[string]string{} // all of them looked up while git can still read the trees
	for name, other := range map[string]string{"a/f": "b/g", "a": "b", "large": "other"} {
		replaced[loose(name)] = loose(other)
	}
	for to, from := range replaced {
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(from, to); err != nil {
			t.Fatal(err)
		}
	}
	tree := head(t, dir).Tree
	entries, err := tree.ReadDir(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.ReadDir(t.Context(), "a"); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if _, _, err := tree.Objects.Blob(t.Context(), HashBlob([]byte("right"))); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	b, _, err := tree.Objects.Blob(t.Context(), entries[indexName(entries, "large")].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := io.Copy(io.Discard, b); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestCorruptPacks flips and cuts a pack everywhere. Whatever is then read is
// right, or an error says so.
func TestCorruptPacks(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	for i := range 3 {
		write(t, dir, "d/f", strings.Repeat("line\n", 40*(i+1))+fmt.Sprint(i))
		write(t, dir, "g", strings.Repeat(fmt.Sprintln(i), 9))
		commit(t, dir, fmt.Sprint(i))
	}
	want := map[string]string{}
	for i := range 3 {
		want[fmt.Sprint(i)] = git(t, dir, "ls-tree", "-r", "-t", "-z", fmt.Sprintf("HEAD~%d", i))
	}
	ids := strings.Fields(git(t, dir, "rev-list", "HEAD"))
	git(t, dir, "gc", "-q", "--prune=now")
	for _, ext := range []string{"pack", "idx"} {
		names, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*."+ext))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		whole, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(names[0], 0o644); err != nil {
			t.Fatal(err)
		}
		damaged, tries := 0, 0
		for at := 0; at < len(whole); at += 5 {
			tries++
			broken := slices.Clone(whole)
			broken[at] ^= 0x55
			switch {
			case at%7 == 0: // that is every seventh time
				broken = whole[:at]
			case at < len(whole)-20: // as if the sum at its end were right
				sum := sha1.Sum(broken[:len(broken)-20])
				copy(broken[len(broken)-20:], sum[:])
			}
			if err := os.WriteFile(names[0], broken, 0o644); err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				if err := readAll(t, dir, id, want[fmt.Sprint(i)]); err != nil {
					damaged++
					if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) {
						t.Fatalf("%s at %d: an error of no known kind: %v", ext, at, err)
					}
				}
			}
		}
		if damaged < tries/2 {
			t.Errorf("of %d damages to the %s only %d were noticed: is it read?", tries, ext, damaged)
		}
		if err := os.WriteFile(names[0], whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readAll(t *testing.T, dir, id, want string) error {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Commit(t.Context(), id)
	if err != nil {
		return err
	}
	var got strings.Builder
	err = c.Tree.Walk(t.Context(), func(path string, e Entry) error {
		kind := "tree"
		if e.Mode != ModeDir {
			kind = "blob"
			b, _, err := c.Tree.Objects.Blob(t.Context(), e.ID)
			if err != nil {
				return err
			}
			content, err := io.ReadAll(b)
			if err != nil {
				return err
			}
			if HashBlob(content) != e.ID {
				t.Fatalf("%s was read wrongly and nothing said so", path)
			}
		}
		fmt.Fprintf(&got, "%06o %s %s\t%s\x00", uint32(e.Mode), kind, e.ID, path)
		return nil
	})
	if err == nil && got.String() != want {
		t.Fatalf("%q was read wrongly and nothing said so, want %q", got.String(), want)
	}
	return err
}
