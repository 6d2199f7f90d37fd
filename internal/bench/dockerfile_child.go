package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// buildDockerfile builds an image of a repository's last commit, whether or not it is
// in the registry: buildctl does not look either.
func buildDockerfile(ctx context.Context, dir, repository, address string, stdout io.Writer) error {
	tree, states, err := lastStates(ctx, dir)
	if err != nil {
		return err
	}
	images, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		return err
	}
	backend, err := dockerfile.NewAddress(dockerfile.AddressConfig{Address: address, Insecure: true})
	if err != nil {
		return err
	}
	builder, err := dockerfile.New(dockerfile.Config{Backend: backend, Registry: images})
	if err != nil {
		return err
	}
	res, err := builder.Build(ctx, lifecycle.BuildRequest{State: states[0], Full: tree, Repository: repository})
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, res.Digest)
	return nil
}
