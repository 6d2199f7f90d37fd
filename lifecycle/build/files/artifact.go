package files

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
)

const (
	// emptyType and emptyConfig are the configuration of an artifact that has none
	// (https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidance-for-an-empty-descriptor).
	emptyType   types.MediaType = "application/vnd.oci.empty.v1+json"
	emptyConfig string          = "{}"
	// titleKey is the annotation with the name of a file
	// (https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md).
	titleKey string = "org.opencontainers.image.title"
)

// artifact is an artifact of one blob.
type artifact struct {
	blob     *layer.Layer
	manifest []byte
}

var _ partial.CompressedImageCore = (*artifact)(nil)

// newArtifact is an artifact of one blob, which is a file of that title if it has
// one.
func newArtifact(blob *layer.Layer, title string) (v1.Image, error) {
	config, size, err := v1.SHA256(strings.NewReader(emptyConfig))
	if err != nil {
		return nil, err
	}
	of, err := partial.Descriptor(blob)
	if err != nil {
		return nil, err
	}
	if title != "" {
		of.Annotations = map[string]string{titleKey: title}
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: string(of.MediaType),
		Config: v1.Descriptor{MediaType: emptyType, Digest: config, Size: size}, Layers: []v1.Descriptor{*of},
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&artifact{blob, manifest})
}

func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a *artifact) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a *artifact) RawConfigFile() ([]byte, error)      { return []byte(emptyConfig), nil }

func (a *artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if digest, err := a.blob.Digest(); err != nil || h != digest {
		return nil, fmt.Errorf("the artifact has no blob %s", h)
	}
	return a.blob, nil
}
