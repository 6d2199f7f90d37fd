package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unchecked holds trees that no parser would let pass.
type unchecked struct {
	*MemoryObjects
	extra map[ID][]Entry
}

func (u unchecked) Tree(ctx context.Context, id ID) ([]Entry, error) {
	if entries, ok := u.extra[id]; ok {
		return entries, nil
	}
	return u.MemoryObjects.Tree(ctx, id)
}

func TestHostileTreesAreBounded(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	var bombs [2]ID
	for i := range bombs {
		id := m.PutBlob(fmt.Append(nil, i))
		for level := range 12 {
			mode := ModeDir
			if level == 0 {
				mode = ModeFile
			}
			var entries []Entry
			for name := range 10 {
				entries = append(entries, Entry{Name: fmt.Sprint(name), Mode: mode, ID: id})
			}
			var err error
			if id, err = m.PutTree(entries); err != nil {
				t.Fatal(err)
			}
		}
		bombs[i] = id
	}
	bomb := Tree{bombs[0], m}
	to := filepath.Join(t.TempDir(), "to")
	if err := Export(t.Context(), bomb, to); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("something was written")
	}
	if changes, err := Diff(t.Context(), bomb, Tree{bombs[1], m}); !errors.Is(err, ErrTooLarge) || changes != nil {
		t.Error(err)
	}
	circle := Tree{"c", unchecked{m, map[ID][]Entry{"c": {{"d", ModeDir, "c"}}}}}
	walk := func(string, Entry) error { return nil }
	if err := circle.Walk(t.Context(), walk); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	if _, err := Diff(t.Context(), circle, Tree{}); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestMalformedObjectsOfARepository(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	blob := gitIn(t, dir, "x", "hash-object", "-w", "--stdin")
	bin := make([]byte, 20)
	if _, err := fmt.Sscanf(blob, "%x", &bin); err != nil {
		t.Fatal(err)
	}
	put := func(kind, content string) string {
		return gitIn(t, dir, content, "hash-object", "-w", "--literally", "-t", kind, "--stdin")
	}
	r := open(t, dir)
	for _, entry := range []string{"40000 ..", "40000 .git", "100644 a/b", "7 a"} {
		tree := put("tree", entry+"\x00"+string(bin))
		c, err := r.Commit(t.Context(), put("commit", "tree "+tree+"\n\nm"))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "to")
		if err := Export(t.Context(), c.Tree, to); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	for _, content := range []string{"", "tree x\n\n", "parent " + blob + "\n", "tree " + blob + "\nparent 1\n\n"} {
		if _, err := r.Commit(t.Context(), put("commit", content)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", content, err)
		}
	}
	for _, content := range []string{"", "object x\n"} {
		if _, err := r.Commit(t.Context(), put("tag", content)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", content, err)
		}
	}
	loop := put("tag", "object "+put("commit", "tree "+strings.Repeat("ab", 20)+"\n\nm")+"\n")
	for range maxTags {
		loop = put("tag", "object "+loop+"\n")
	}
	if _, err := r.Commit(t.Context(), loop); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	c, err := r.Commit(t.Context(), put("commit", "tree "+strings.Repeat("ab", 20)+"\n\nm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tree.ReadDir(t.Context(), ""); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, id := range []ID{"", "x", ID(strings.Repeat("g", 40)), ID(strings.Repeat("AB", 20)), ID(strings.Repeat("ab", 32)), c.ID} {
		if _, _, err := c.Tree.Objects.Blob(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
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
			if at%7 == 0 { // that is every seventh time
				broken = whole[:at]
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
