package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
