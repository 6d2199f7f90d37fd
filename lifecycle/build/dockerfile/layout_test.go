package dockerfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/ociimage"
)

// writeLayout makes a layout with an index of one image.
func writeLayout(t *testing.T) (dir string, digest lifecycle.Digest, index v1.ImageIndex) {
	t.Helper()
	img, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	index, _, err = ociimage.Index([]v1.Image{img}, []catalogue.Platform{{OS: "linux", Architecture: "amd64"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.AppendIndex(index); err != nil {
		t.Fatal(err)
	}
	hash, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return dir, lifecycle.Digest(hash.String()), index
}

func TestOpenLayout(t *testing.T) {
	t.Parallel()
	dir, digest, _ := writeLayout(t)
	index, size, err := openLayout(dir, digest, []string{"linux/amd64"})
	if err != nil || size == 0 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	if got, err := index.Digest(); err != nil || got.String() != string(digest) {
		t.Errorf("it is %s, %v; want %s", got, err, digest)
	}
	if _, _, err := openLayout(dir, digest, []string{"linux/amd64", "linux/arm64"}); err == nil || !strings.Contains(err.Error(), "it is for linux/amd64, not for linux/amd64, linux/arm64") {
		t.Errorf("for another platform too: %v", err)
	}
}

// Whatever of a layout is changed, cut or gone is found.
func TestDamagedLayouts(t *testing.T) {
	t.Parallel()
	whole, _, _ := writeLayout(t)
	blobs, err := filepath.Glob(filepath.Join(whole, "blobs", "sha256", "*"))
	if err != nil || len(blobs) != 5 {
		t.Fatalf("%d blobs, %v", len(blobs), err)
	}
	for name, damage := range map[string]func(path string, content []byte) error{
		"gone":   func(path string, _ []byte) error { return os.Remove(path) },
		"cut":    func(path string, content []byte) error { return os.WriteFile(path, content[:len(content)-1], 0o600) },
		"longer": func(path string, content []byte) error { return os.WriteFile(path, append(content, '\n'), 0o600) },
		"changed": func(path string, content []byte) error {
			content[len(content)/2] ^= 1
			return os.WriteFile(path, content, 0o600)
		},
	} {
		for i := range blobs {
			dir, digest, _ := writeLayout(t)
			blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(blobs[i])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(blobs[i], 0o600); err != nil {
				t.Fatal(err)
			}
			if err := damage(blobs[i], content); err != nil {
				t.Fatal(err)
			}
			if _, _, err := openLayout(dir, digest, []string{"linux/amd64"}); err == nil {
				t.Errorf("%s: a blob of %d bytes is believed", name, len(content))
			}
		}
	}
}

// No index, however it looks, is believed or stops the program.
func FuzzLayout(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:00","size":3,"platform":{"os":"linux","architecture":"amd64"}}]}`))
	f.Add([]byte(`{"manifests":[{"digest":"sha512:../../x"}]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		hash, _, err := v1.SHA256(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		blobs := filepath.Join(dir, "blobs", "sha256")
		if err := os.MkdirAll(blobs, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(blobs, hash.Hex), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		// An index alone names no image that is there.
		if _, _, err := openLayout(dir, lifecycle.Digest(hash.String()), []string{"linux/amd64"}); err == nil {
			t.Errorf("%q is believed", raw)
		}
	})
}
