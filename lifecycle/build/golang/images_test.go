package golang_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// pulled is an index as any other client of the registry sees it.
func pulled(t *testing.T, r lifecycle.BuildRequest, res lifecycle.BuildResult) v1.ImageIndex {
	t.Helper()
	ref, err := name.NewDigest(r.Repository + "@" + string(res.Digest))
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatalf("the pushed index is not valid: %v", err)
	}
	return index
}

// platformImage returns the image of one platform.
func platformImage(t *testing.T, index v1.ImageIndex, platform string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.String() == platform {
			img, err := index.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return img
		}
	}
	t.Fatalf("the index has no image for %s", platform)
	return nil
}

// program takes the program out of an image, by way of its entrypoint.
func program(t *testing.T, img v1.Image) string {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Config.Entrypoint) != 1 {
		t.Fatalf("the entrypoint is %q", config.Config.Entrypoint)
	}
	content := mutate.Extract(img)
	defer content.Close()
	for files := tar.NewReader(content); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("the image has no %s", config.Config.Entrypoint[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		if "/"+h.Name != config.Config.Entrypoint[0] {
			continue
		}
		if h.Uid != 0 || h.Gid != 0 || h.Mode != 0o555 || h.ModTime.Unix() != 0 {
			t.Errorf("the program's header says uid %d, gid %d, mode %o, time %v", h.Uid, h.Gid, h.Mode, h.ModTime)
		}
		file := filepath.Join(t.TempDir(), "program")
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		exectest.Write(t, file, content)
		return file
	}
}

// run runs the program of the image for linux/amd64, or for whatever
// architecture this machine has.
func run(t *testing.T, img v1.Image) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t, img)).CombinedOutput()
	if err != nil {
		t.Fatalf("run the program: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// checkImage checks an image's configuration and returns the size of its layer.
func checkImage(t *testing.T, img v1.Image, platform string) int64 {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Platform().String(); got != platform {
		t.Errorf("the image of %s is for %s", platform, got)
	}
	want := v1.Config{
		Entrypoint: []string{"/app/hello"}, User: "65532:65532",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("%s (-want +got):\n%s", platform, diff)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("%s: %d layers", platform, len(layers))
	}
	size, err := layers[0].Size()
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// list returns the names and modes of what an image holds, sorted.
func list(t *testing.T, img v1.Image) []string {
	t.Helper()
	content := mutate.Extract(img)
	defer content.Close()
	var names []string
	for files := tar.NewReader(content); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return slices.Compact(names)
		}
		if err != nil {
			t.Fatal(err)
		}
		name := h.Name
		if h.Typeflag == tar.TypeDir && !strings.HasSuffix(name, "/") {
			name += "/"
		}
		names = append(names, fmt.Sprintf("%s %o", name, h.Mode))
	}
}
