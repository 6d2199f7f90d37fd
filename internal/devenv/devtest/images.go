package devtest

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// PushBusybox makes a reference lead to an image index of this machine's static busybox, and returns its digest.
func PushBusybox(t testing.TB, reference string) string {
	t.Helper()
	image, err := devenv.BusyboxImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pushIndex(t, reference, image)
}

// PushFiles makes a reference lead to an image index of files by their paths, with these ONBUILD instructions, and returns
// its digest.
func PushFiles(t testing.TB, reference string, files map[string]string, onBuild ...string) string {
	t.Helper()
	contents := map[string][]byte{}
	for path, content := range files {
		contents[path] = []byte(content)
	}
	return pushIndex(t, reference, imageOf(t, contents, v1.Config{OnBuild: onBuild}))
}

// PushFrontend makes a reference lead to an image index that runs a program, which a Dockerfile can name as its frontend,
// and returns its digest.
func PushFrontend(t testing.TB, reference, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return pushIndex(t, reference, imageOf(t, map[string][]byte{"frontend": content}, v1.Config{Entrypoint: []string{"/frontend"}}))
}

// imageOf makes an image of one layer, of none if there are no files. All of its files can be run.
func imageOf(t testing.TB, files map[string][]byte, config v1.Config) v1.Image {
	t.Helper()
	image := empty.Image
	if len(files) > 0 {
		var err error
		if image, err = mutate.AppendLayers(image, layerOf(t, files)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	if image, err = mutate.ConfigFile(image, file); err != nil {
		t.Fatal(err)
	}
	return image
}

func layerOf(t testing.TB, files map[string][]byte) v1.Layer {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o755, Size: int64(len(files[path]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[path]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

func pushIndex(t testing.TB, reference string, image v1.Image) string {
	t.Helper()
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}},
	})
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}
