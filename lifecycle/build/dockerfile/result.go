package dockerfile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/lifecycle"
)

// result is what the registry has now. BuildKit says that it pushed; this is
// what can be delivered. All that is asked of the registry is asked at once.
func (b *build) result(ctx context.Context, solved Solved) (lifecycle.BuildResult, error) {
	type sized struct {
		size int64
		err  error
	}
	sizes := make(chan sized, 1)
	asking, stop := context.WithCancel(ctx)
	go func() {
		size, err := solved.Size, error(nil)
		if size == 0 {
			size, err = b.size(asking, solved.Digest)
		}
		sizes <- sized{size, err}
	}()
	found, err := b.pushed(ctx, solved.Digest)
	if err != nil {
		stop() // what is wrong says more than what its size is
	}
	size := <-sizes
	stop()
	if err = cmp.Or(err, size.err); err != nil {
		return lifecycle.BuildResult{}, err
	}
	return lifecycle.BuildResult{
		Digest: solved.Digest, Platforms: found.Platforms, Size: size.size,
		Toolchain: cmp.Or(found.Toolchain, Toolchain(solved.Version)), Bases: slices.Clone(b.request.State.Bases),
	}, nil
}

// pushed is the index that the registry has, if it is what BuildKit was asked for.
func (b *build) pushed(ctx context.Context, digest lifecycle.Digest) (lifecycle.RegistryImage, error) {
	found, err := b.registry.Lookup(ctx, b.request.Repository, digest)
	if err != nil {
		return found, err
	}
	want := b.platforms()
	switch {
	case found.Fingerprint != b.request.State.Fingerprint:
		err = fmt.Errorf("the index is not annotated with %s but with %q", b.request.State.Fingerprint, found.Fingerprint)
	case !slices.Equal(found.Platforms, want):
		err = fmt.Errorf("the index is for %s, not for %s", strings.Join(found.Platforms, ", "), strings.Join(want, ", "))
	}
	if err != nil {
		err = &lifecycle.Error{
			Op: "check image", On: b.request.Repository + "@" + string(digest), Err: err,
			Advice: "What BuildKit pushed is not what it was asked for: look at its version and configuration.",
		}
	}
	return found, err
}

// size adds up the compressed layers. One that several platforms share counts
// once.
func (b *build) size(ctx context.Context, digest lifecycle.Digest) (size int64, err error) {
	platforms := b.platforms()
	manifests := make([]*v1.Manifest, len(platforms))
	g, ctx := errgroup.WithContext(ctx)
	for i, platform := range platforms {
		g.Go(func() error {
			img, err := b.registry.Image(ctx, b.request.Repository+"@"+string(digest), platform)
			if err != nil {
				return err
			}
			if manifests[i], err = img.Manifest(); err != nil {
				err = &lifecycle.Error{Op: "read image", On: b.request.Repository + "@" + string(digest), Err: err}
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	counted := map[v1.Hash]bool{}
	for _, m := range manifests {
		for _, layer := range m.Layers {
			if !counted[layer.Digest] {
				counted[layer.Digest] = true
				size += layer.Size
			}
		}
	}
	return size, nil
}
