package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Verify is [Registry.Lookup] that takes nothing for granted: it reads the
// manifests that the index names, and asks for their configurations and
// layers. That is one request for the index and each manifest, and one for each
// blob.
//
// The error matches [lifecycle.ErrImageNotFound] if the repository does not have
// all of it, and names what is missing. A push of the same image mends it.
func (r *Registry) Verify(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.RegistryImage, error) {
	const op = "verify image"
	ref, err := r.digest(op, repository, digest)
	if err != nil {
		return lifecycle.RegistryImage{}, err
	}
	found, desc, err := r.read(ctx, op, ref)
	if err != nil {
		return lifecycle.RegistryImage{}, err
	}
	return found, r.verify(ctx, op, ref, desc)
}

// verify asks for all that the index behind a reference names.
func (r *Registry) verify(ctx context.Context, op string, ref name.Reference, index *remote.Descriptor) error {
	parts, err := r.manifests(ctx, op, ref, index)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyJobs)
	for digest, what := range parts {
		g.Go(func() error {
			there, err := r.hasBlob(ctx, op, ref.Context().Digest(digest.String()))
			if err == nil && !there {
				err = lost(op, ref, what+" "+digest.String())
			}
			return err
		})
	}
	return g.Wait()
}

// manifests reads the manifests that an index names, of indexes in it too, and
// returns the blobs that those name, each with what it is.
func (r *Registry) manifests(ctx context.Context, op string, ref name.Reference, index *remote.Descriptor) (map[v1.Hash]string, error) {
	blobs := map[v1.Hash]string{}
	seen := map[v1.Hash]bool{}
	for queue := []*remote.Descriptor{index}; len(queue) > 0; queue = queue[1:] {
		m, err := v1.ParseIndexManifest(bytes.NewReader(queue[0].Manifest))
		if err != nil {
			return nil, &lifecycle.Error{Op: op, On: ref.String(), Err: fmt.Errorf("read the image index: %w", err)}
		}
		for _, child := range m.Manifests {
			if seen[child.Digest] {
				continue
			}
			seen[child.Digest] = true
			if !child.MediaType.IsImage() && !child.MediaType.IsIndex() {
				blobs[child.Digest] = "blob"
				continue
			}
			desc, err := r.get(ctx, op, ref.Context().Digest(child.Digest.String()))
			switch {
			case errors.Is(err, lifecycle.ErrImageNotFound):
				return nil, lost(op, ref, describeChild(child))
			case err != nil:
				return nil, err
			case child.MediaType.IsIndex():
				queue = append(queue, desc)
			default:
				if err := addBlobs(blobs, desc); err != nil {
					return nil, &lifecycle.Error{Op: op, On: ref.String(), Err: err}
				}
			}
		}
	}
	return blobs, nil
}

func describeChild(child v1.Descriptor) string {
	if child.Platform == nil {
		return "manifest " + child.Digest.String()
	}
	return fmt.Sprintf("manifest %s for %s", child.Digest, platformName(*child.Platform))
}

func addBlobs(blobs map[v1.Hash]string, desc *remote.Descriptor) error {
	m, err := v1.ParseManifest(bytes.NewReader(desc.Manifest))
	if err != nil {
		return fmt.Errorf("read the image manifest %s: %w", desc.Digest, err)
	}
	if m.Config.Digest == (v1.Hash{}) {
		return fmt.Errorf("the image manifest %s names no configuration", desc.Digest)
	}
	blobs[m.Config.Digest] = "configuration"
	for i, layer := range m.Layers {
		if layer.Digest == (v1.Hash{}) {
			return fmt.Errorf("the image manifest %s names no digest for layer %d", desc.Digest, i+1)
		}
		// Others come from elsewhere, and registries need not have them.
		if layer.MediaType.IsDistributable() {
			blobs[layer.Digest] = "layer"
		}
	}
	return nil
}

func (r *Registry) hasBlob(ctx context.Context, op string, ref name.Digest) (there bool, err error) {
	err = r.retry.do(ctx, r.log, op, func(ctx context.Context) error {
		layer, err := r.puller.Layer(ctx, ref)
		if err == nil {
			there, err = partial.Exists(layer)
		}
		return err
	})
	return there, failRead(ctx, op, ref, err)
}

func lost(op string, ref name.Reference, part string) error {
	return &lifecycle.Error{Op: op, On: ref.String(), Err: fmt.Errorf("%w: it lost the %s", lifecycle.ErrImageNotFound, part)}
}
