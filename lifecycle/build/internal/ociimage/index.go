package ociimage

import (
	"errors"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue"
)

// Index returns an OCI index with the images, each for the platform at its place,
// and with the annotations. size is that of all layers in bytes; one that several
// images share counts once.
func Index(images []v1.Image, platforms []catalogue.Platform, annotations map[string]string) (index v1.ImageIndex, size int64, err error) {
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	counted := map[v1.Hash]bool{}
	for i, img := range images {
		manifest, err := img.Manifest()
		if err != nil {
			return nil, 0, err
		}
		for _, l := range manifest.Layers {
			if !counted[l.Digest] {
				counted[l.Digest] = true
				size += l.Size
			}
		}
		p := platform(platforms[i])
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: manifest.MediaType, Platform: &p,
		}})
	}
	if len(annotations) == 0 {
		return index, size, nil
	}
	annotated, ok := mutate.Annotations(index, annotations).(v1.ImageIndex)
	if !ok {
		return nil, 0, errors.New("annotate the image index")
	}
	return annotated, size, nil
}

func platform(p catalogue.Platform) v1.Platform {
	return v1.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}
}
