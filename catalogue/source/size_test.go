package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// opened notes which blobs were opened.
type opened struct {
	Objects
	ids []ID
}

func (o *opened) Blob(ctx context.Context, id ID) (io.ReadCloser, int64, error) {
	o.ids = append(o.ids, id)
	return o.Objects.Blob(ctx, id)
}

// A size is the one that git says, of loose, packed, delta and large blobs.
func TestBlobSizeIsGits(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		dir := newRepo(t)
		line := strings.Repeat("a line of many\n", 200)
		for name, content := range map[string]string{
			"empty": "", "one": "x", "long": line, "longer": line + "and another\n", "longest": "first\n" + line, "large": strings.Repeat("0123456789abcdef", MaxFile/16+1),
		} {
			write(t, dir, name, content)
		}
		commit(t, dir, "files")
		if packed {
			git(t, dir, "repack", "-adfq")
		}
		tree := head(t, dir).Tree
		objects := Overlay(NewMemory(), tree.Objects)
		entries, err := objects.Tree(t.Context(), tree.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			size, err := BlobSize(t.Context(), objects, e.ID)
			if want := git(t, dir, "cat-file", "-s", string(e.ID)); err != nil || fmt.Sprint(size) != want {
				t.Errorf("%s, packed %t: %d, %v: want %s", e.Name, packed, size, err, want)
			}
		}
		for what, id := range map[string]ID{"a tree": tree.ID, "nothing": "0123456789012345678901234567890123456789", "no ID": "x"} {
			if size, err := BlobSize(t.Context(), objects, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %d, %v", what, size, err)
			}
		}
	}
}

// What cannot tell a size opens the blob, and only then.
func TestBlobSizeByOpening(t *testing.T) {
	t.Parallel()
	memory := NewMemory()
	id := memory.PutBlob([]byte("content"))
	plain := &opened{Objects: memory}
	if size, err := BlobSize(t.Context(), plain, id); err != nil || size != 7 || len(plain.ids) != 1 {
		t.Errorf("%d, %v, opened %q", size, err, plain.ids)
	}
	dir := newRepo(t)
	write(t, dir, "f", "content")
	commit(t, dir, "a file")
	over := &opened{Objects: NewMemory()}
	if size, err := BlobSize(t.Context(), Overlay(over, head(t, dir).Tree.Objects), id); err != nil || size != 7 || len(over.ids) != 1 {
		t.Errorf("%d, %v, opened %q", size, err, over.ids)
	}
	if _, err := BlobSize(t.Context(), plain, "0123456789012345678901234567890123456789"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
