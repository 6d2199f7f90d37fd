package ociimage

import (
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
)

// Scratch is the empty image that others are built on.
func Scratch() v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
}

// New is an image for the platform of the layers on a base. configure changes what
// is run in it; nil leaves that as the base has it. Its times say nothing, so that
// it is the same tomorrow.
func New(base v1.Image, p catalogue.Platform, layers []*layer.Layer, configure func(*v1.Config)) (v1.Image, error) {
	epoch := v1.Time{Time: time.Unix(0, 0).UTC()}
	var added []mutate.Addendum
	for _, l := range layers {
		added = append(added, mutate.Addendum{Layer: l, History: v1.History{Created: epoch, CreatedBy: "pharos"}})
	}
	img, err := mutate.Append(base, added...)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.OS, p.Architecture, p.Variant
	config.Created = epoch
	if configure != nil {
		configure(&config.Config)
	}
	return mutate.ConfigFile(img, config)
}
