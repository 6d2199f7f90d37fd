package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue"
)

// maxProgram is more than the agent's program has.
const maxProgram = 64 << 20

// epoch is the time of everything, so that the same content has the same digest.
var epoch = time.Unix(0, 0).UTC()

// fileLayer is a layer with one file, which everybody may read and nobody write.
func fileLayer(name string, mode int64, content []byte) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	name = strings.TrimPrefix(name, "/")
	var headers []*tar.Header
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		headers = append([]*tar.Header{{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: epoch}}, headers...)
	}
	headers = append(headers, &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: epoch,
	})
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// find returns the content of a file in an image's last layer.
func find(img v1.Image, name string) ([]byte, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) == 0 {
		return nil, errors.New("it has no layers")
	}
	content, err := layers[len(layers)-1].Uncompressed()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("it has no file %s", name)
		case err != nil:
			return nil, err
		case h.Typeflag == tar.TypeReg && h.Name == strings.TrimPrefix(name, "/"):
			if h.Size > maxProgram {
				return nil, fmt.Errorf("%s has %d bytes", name, h.Size)
			}
			return io.ReadAll(r)
		}
	}
}

// scratch is the empty image.
func scratch() v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
}

// with is base for the platform with one more layer, and configured.
func with(base v1.Image, p catalogue.Platform, l v1.Layer, configure func(*v1.Config)) (v1.Image, error) {
	img, err := mutate.Append(base, mutate.Addendum{
		Layer: l, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "pharos"},
	})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.OS, p.Architecture, p.Variant
	config.Created = v1.Time{Time: epoch}
	configure(&config.Config)
	return mutate.ConfigFile(img, config)
}

// index puts the platforms' images together.
func index(images []v1.Image, platforms []catalogue.Platform) v1.ImageIndex {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, img := range images {
		p := platforms[i]
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1,
			Platform:  &v1.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant},
		}})
	}
	return all
}
