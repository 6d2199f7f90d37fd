package main

import (
	"context"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// pushedFields are what a registry has of an image.
type pushedFields struct {
	Digest     lifecycle.Digest `json:"digest"`
	Platforms  []string         `json:"platforms"`
	Repository string           `json:"repository"`
	Toolchain  string           `json:"toolchain,omitempty"`
}

func (f *pushedFields) digest() string {
	if f == nil {
		return "<none>"
	}
	return string(f.Digest)
}

// askRegistry fills in what the target's registry has. It needs no cluster.
func (o *imagesOptions) askRegistry(ctx context.Context, tree source.Tree, states []catalogue.State, images []imageFields) error {
	t, err := o.targetIn(ctx, tree)
	if err != nil {
		return err
	}
	registry, err := standard.NewRegistry(t, registryOptions())
	if err != nil {
		return err
	}
	pushed, err := lifecycle.PushedImages(ctx, registry, t.Registry.Push, states)
	if err != nil {
		return err
	}
	for i := range images {
		name := images[i].Metadata.Name
		if found, ok := pushed[name]; ok {
			images[i].Pushed = &pushedFields{
				Digest: found.Digest, Platforms: found.Platforms, Repository: t.Registry.Push + "/" + name, Toolchain: found.Toolchain,
			}
		}
	}
	return nil
}
