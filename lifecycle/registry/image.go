package registry

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Image returns the image of one platform behind a reference by digest, such as
// "gcr.io/distroless/static@sha256:…". The platform is written as in a
// catalogue, "linux/arm64"; an image without a variant serves one with. Layers
// are read when they are used, for which ctx must not have ended.
//
// The error matches [lifecycle.ErrImageNotFound] if the registry does not have
// the reference, [lifecycle.ErrSource] if it does not have the platform or the
// reference is not by digest, and [lifecycle.ErrUnreachable] if the registry
// cannot be reached or refuses.
func (r *Registry) Image(ctx context.Context, reference, platform string) (v1.Image, error) {
	const op = "pull base image"
	ref, err := r.pinned(op, reference)
	if err != nil {
		return nil, err
	}
	desc, err := r.get(ctx, op, ref)
	if err != nil {
		return nil, err
	}
	if desc.MediaType.IsIndex() {
		child, err := choose(desc, platform)
		if err != nil {
			return nil, &lifecycle.Error{Op: op, On: ref.String(), Class: lifecycle.ErrSource, Err: err}
		}
		if desc, err = r.get(ctx, op, ref.Digest(child.String())); err != nil {
			return nil, err
		}
	}
	img, err := desc.Image()
	if err != nil {
		return nil, &lifecycle.Error{Op: op, On: ref.String(), Class: lifecycle.ErrSource, Err: err}
	}
	config, err := r.config(ctx, op, ref, img)
	if err != nil {
		return nil, err
	}
	if have := platformName(*config.Platform()); !serves(have, platform) {
		return nil, &lifecycle.Error{Op: op, On: ref.String(), Class: lifecycle.ErrSource, Err: fmt.Errorf("it is for %s, not for %s", have, platform)}
	}
	return img, nil
}

func choose(desc *remote.Descriptor, platform string) (v1.Hash, error) {
	index, err := v1.ParseIndexManifest(bytes.NewReader(desc.Manifest))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("read the image index: %w", err)
	}
	var found *v1.Descriptor
	for i, m := range index.Manifests {
		if m.Platform == nil || !m.MediaType.IsImage() || !serves(platformName(*m.Platform), platform) {
			continue
		}
		if found == nil || platformName(*m.Platform) == platform {
			found = &index.Manifests[i]
		}
	}
	if found == nil {
		return v1.Hash{}, fmt.Errorf("it has no image for %s, only for %s", platform, strings.Join(platforms(index), ", "))
	}
	return found.Digest, nil
}

// serves says whether an image of one platform runs on another that may have a
// variant more.
func serves(have, want string) bool { return have == want || strings.HasPrefix(want, have+"/") }
