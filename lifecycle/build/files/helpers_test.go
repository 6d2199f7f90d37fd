package files_test

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/files"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// site is a small static site beside something else.
var site = map[string]source.File{
	"site/public/index.html":      {Content: "<h1>Shop</h1>\n"},
	"site/public/css/a.css":       {Content: "h1 {}\n"},
	"site/public/css.old":         {Content: "sorts before css/\n"},
	"site/public/bin/check":       {Content: "#!/bin/sh\n", Mode: source.ModeExecutable},
	"site/public/latest":          {Content: "css/a.css", Mode: source.ModeSymlink},
	"site/public/styles":          {Content: "css", Mode: source.ModeSymlink},
	"site/public/ünï cöde/ß.html": {Content: "ß"},
	"site/notes.md":               {Content: "not of the site\n"},
}

func with(base map[string]source.File, changes map[string]source.File) map[string]source.File {
	all := maps.Clone(base)
	maps.Copy(all, changes)
	return all
}

// fixture is a builder, a registry in this process, and a temporary folder that is
// to be empty in the end.
type fixture struct {
	*files.Builder
	t    *testing.T
	host string
	temp string
}

func newBuilder(temp string) (*files.Builder, error) {
	reg, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		return nil, err
	}
	return files.New(files.Config{Registry: reg, TempDir: temp})
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, host: devtest.Registry(t), temp: t.TempDir()}
	var err error
	if f.Builder, err = newBuilder(f.temp); err != nil {
		t.Fatal(err)
	}
	return f
}

// request asks for an image of the files; the undeclared ones are not among its
// inputs.
func (f *fixture) request(all map[string]source.File, recipe catalogue.FilesBuild, undeclared ...string) lifecycle.BuildRequest {
	f.t.Helper()
	full, err := source.FromFiles(all)
	if err != nil {
		f.t.Fatal(err)
	}
	declared := maps.Clone(all)
	maps.DeleteFunc(declared, func(name string, _ source.File) bool { return slices.Contains(undeclared, name) })
	inputs, err := source.FromFiles(declared)
	if err != nil {
		f.t.Fatal(err)
	}
	return request(f.host, full, inputs, recipe)
}

func request(host string, full, inputs source.Tree, recipe catalogue.FilesBuild) lifecycle.BuildRequest {
	return lifecycle.BuildRequest{
		State: catalogue.State{
			Image:       catalogue.Image{Name: "site", Build: catalogue.Build{Files: &recipe}, Platforms: []string{"linux/amd64"}},
			Fingerprint: catalogue.Fingerprint(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(inputs.ID)))),
			Inputs:      inputs,
		},
		Full: full, Repository: host + "/dev/site",
	}
}

func (f *fixture) build(r lifecycle.BuildRequest) lifecycle.BuildResult {
	f.t.Helper()
	if err := f.Check(f.t.Context(), r); err != nil {
		f.t.Error(err)
	}
	res, err := f.Build(f.t.Context(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.empty()
	return res
}

// fail builds what cannot be built because of its inputs or its recipe.
func (f *fixture) fail(r lifecycle.BuildRequest) *lifecycle.BuildError {
	f.t.Helper()
	_, err := f.Build(f.t.Context(), r)
	failed, ok := errors.AsType[*lifecycle.BuildError](err)
	if !ok || !errors.Is(err, lifecycle.ErrSource) || failed.Image != "site" {
		f.t.Fatalf("got the error %v, want a *lifecycle.BuildError of site", err)
	}
	f.empty()
	return failed
}

// refuse is fail for what is known before anything is built.
func (f *fixture) refuse(r lifecycle.BuildRequest) *lifecycle.BuildError {
	f.t.Helper()
	failed := f.fail(r)
	if checked := f.Check(f.t.Context(), r); checked == nil || checked.Error() != failed.Error() {
		f.t.Errorf("Check says %v, Build says %v", checked, failed)
	}
	return failed
}

// empty checks that nothing is left in the temporary folder.
func (f *fixture) empty() {
	f.t.Helper()
	left, err := os.ReadDir(f.temp)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range left {
		f.t.Errorf("%s is left", filepath.Join(f.temp, e.Name()))
	}
}

// pulled is an index as any other client of the registry sees it, all of it.
func pulled(t *testing.T, r lifecycle.BuildRequest, res lifecycle.BuildResult) v1.ImageIndex {
	t.Helper()
	index := indexOf(t, r, res)
	if err := validate.Index(index); err != nil {
		t.Fatalf("the pushed index is not valid: %v", err)
	}
	return index
}

func indexOf(t *testing.T, r lifecycle.BuildRequest, res lifecycle.BuildResult) v1.ImageIndex {
	t.Helper()
	ref, err := name.NewDigest(r.Repository + "@" + string(res.Digest))
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// images are the images of an index, in its order.
func images(t *testing.T, index v1.ImageIndex) (list []v1.Image, platforms []string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		list, platforms = append(list, img), append(platforms, m.Platform.String())
	}
	return list, platforms
}

// onlyLayer is the one layer of an image, and the bytes of its blob.
func onlyLayer(t *testing.T, img v1.Image) (l v1.Layer, blob []byte) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("the image has %d layers", len(layers))
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if blob, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return layers[0], blob
}

// entry is one entry of an archive.
type entry struct {
	Name, Content, Link string
	Mode                int64
}

// unpack reads an archive, and checks what is the same of all entries.
func unpack(t *testing.T, r io.Reader) (list []entry) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 0 || !h.AccessTime.IsZero() || !h.ChangeTime.IsZero() {
			t.Errorf("%s: uid %d, gid %d, names %q and %q, times %v, %v, %v", h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime, h.AccessTime, h.ChangeTime)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{h.Name, string(content), h.Linkname, h.Mode})
	}
}

// unpacked is the only layer of an image, unpacked.
func unpacked(t *testing.T, img v1.Image) []entry {
	t.Helper()
	l, _ := onlyLayer(t, img)
	r, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return unpack(t, r)
}

// manifestOf reads a manifest as it stands in the registry, with nothing of ours.
func manifestOf(t *testing.T, img v1.Image) map[string]any {
	t.Helper()
	raw, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	var manifest map[string]any
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	return manifest
}

func mediaType(t *testing.T, l v1.Layer) types.MediaType {
	t.Helper()
	mt, err := l.MediaType()
	if err != nil {
		t.Fatal(err)
	}
	return mt
}

// discard is a registry that reads what it is given, and keeps nothing.
type discard struct{}

func (discard) Push(_ context.Context, _ string, index v1.ImageIndex, _ catalogue.Fingerprint) (lifecycle.Digest, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", err
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return "", err
	}
	layers, err := img.Layers()
	if err != nil {
		return "", err
	}
	r, err := layers[0].Compressed()
	if err != nil {
		return "", err
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return "", err
	}
	digest, err := index.Digest()
	return lifecycle.Digest(digest.String()), err
}
