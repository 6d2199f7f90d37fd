package layer_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
)

var modes = layer.Modes{Dir: 0o711, File: 0o640, Executable: 0o750}

func write(to *layer.Archive) error {
	return errors.Join(
		to.File("srv/a/run", true, 2, strings.NewReader("#!")),
		to.Dir("srv/a"),
		to.File("srv/b", false, 0, strings.NewReader("")),
		to.File("srv/b", false, 5, strings.NewReader("again")),
		to.Symlink("srv/l", "a/run"),
		to.Dir("."), to.Dir(""),
		to.Dir("srv/empty"),
	)
}

// check wants digest, DiffID and size to be those of what can be read.
func check(t *testing.T, l *layer.Layer) {
	t.Helper()
	sum := func(r io.ReadCloser, err error) (v1.Hash, int64) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		h, n, err := v1.SHA256(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		return h, n
	}
	blob, n := sum(l.Compressed())
	plain, _ := sum(l.Uncompressed())
	digest, err1 := l.Digest()
	diffID, err2 := l.DiffID()
	size, err3 := l.Size()
	if err := errors.Join(err1, err2, err3); err != nil || digest != blob || diffID != plain || size != n {
		t.Errorf("it says %s, %s and %d, %v; it has %s, %s and %d", digest, diffID, size, err, blob, plain, n)
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var plain []byte
	for name, make := range map[string]func(string, types.MediaType, layer.Modes, func(*layer.Archive) error) (*layer.Layer, error){
		"gzipped": layer.Gzipped, "plain": layer.Plain,
	} {
		l, err := make(filepath.Join(dir, name), types.OCILayer, modes, write)
		if err != nil {
			t.Fatal(err)
		}
		check(t, l)
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		if plain != nil && !bytes.Equal(plain, data) {
			t.Error("the compressed archive is another one")
		}
		plain = data
		if mt, err := l.As(types.DockerLayer).MediaType(); err != nil || mt != types.DockerLayer {
			t.Errorf("as another type it is a %s, %v", mt, err)
		}
		if mt, err := l.MediaType(); err != nil || mt != types.OCILayer {
			t.Errorf("it is a %s now, %v", mt, err)
		}
	}
	want := []string{"srv/ 711 0", "srv/a/ 711 0", "srv/a/run 750 2", "srv/b 640 0", "srv/l 777 0 -> a/run", "srv/empty/ 711 0"}
	var got []string
	for archive := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %o %d", h.Name, h.Mode, h.Size)
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		got = append(got, line)
		if h.ModTime.Unix() != 0 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s: %v", h.Name, h)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func TestBlob(t *testing.T) {
	t.Parallel()
	l, err := layer.Blob(filepath.Join(t.TempDir(), "blob"), "application/wasm", strings.NewReader("\x00asm"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, l)
	digest, err := l.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if id, err := l.DiffID(); err != nil || id != digest {
		t.Errorf("the digests are %s and %s, %v", digest, id, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := layer.Blob(there, "", strings.NewReader("")); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file that is there: %v", err)
	}
	for name, size := range map[string]int64{"short": 4, "long": 2} {
		_, err := layer.Gzipped(filepath.Join(dir, name), "", modes, func(to *layer.Archive) error {
			return to.File("x", false, size, strings.NewReader("abc"))
		})
		if err == nil {
			t.Errorf("a file that is too %s is packed", name)
		}
	}
}
