package registry

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Push annotates the index with the fingerprint, sends what the repository does
// not have, and returns the digest of the annotated index. It asks for every
// blob and every manifest by itself: a registry that has the index and lost
// some of what it names gets that again. When all of it is there, it gives it the
// tag of its digest, and moves the fingerprint's tag to it. A push that is tried
// again sends no blob twice.
//
// The error matches [lifecycle.ErrUnreachable] if the registry cannot be
// reached or refuses, and ctx's error if ctx ended. It may be called
// concurrently, for one repository too.
func (r *Registry) Push(ctx context.Context, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) (lifecycle.Digest, error) {
	const op = "push image"
	repo, err := r.repository(op, repository)
	if err != nil {
		return "", err
	}
	tag, err := Tag(fp)
	if err != nil {
		return "", &lifecycle.Error{Op: op, On: repository, Err: err}
	}
	if index, err = annotate(index, fp); err != nil {
		return "", &lifecycle.Error{Op: op, On: repository, Err: err}
	}
	digest, err := index.Digest()
	if err != nil {
		return "", &lifecycle.Error{Op: op, On: repository, Err: fmt.Errorf("compute its digest: %w", err)}
	}
	// A pusher of its own: one remembers for good what it has sent, so it would
	// not send again what a registry has lost since.
	pusher, err := remote.NewPusher(r.options(pushJobs)...)
	if err != nil {
		return "", &lifecycle.Error{Op: op, On: repository, Err: err}
	}
	ref := repo.Digest(digest.String())
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return pushIndex(ctx, pusher, repo, index) },
		// First its own: a process that is killed leaves nothing that is found by its
		// fingerprint and can lose that tag.
		func(ctx context.Context) error {
			return pusher.Put(ctx, repo.Tag(lifecycle.DigestTag(lifecycle.Digest(digest.String()))), index)
		},
		func(ctx context.Context) error { return pusher.Put(ctx, repo.Tag(tag), index) },
	} {
		if err := r.retry.do(ctx, r.log, op, step); err != nil {
			return "", fail(ctx, op, ref, repo, err)
		}
	}
	return lifecycle.Digest(digest.String()), nil
}

// annotate annotates an index with its fingerprint. One that has the annotation
// stays as it is, byte for byte: others may know it by its digest.
func annotate(index v1.ImageIndex, fp catalogue.Fingerprint) (v1.ImageIndex, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read the image index: %w", err)
	}
	if m.Annotations[keys.Fingerprint] == string(fp) {
		return index, nil
	}
	annotated, ok := mutate.Annotations(index, map[string]string{keys.Fingerprint: string(fp)}).(v1.ImageIndex)
	if !ok {
		return nil, errNotAnIndex
	}
	return annotated, nil
}

// pushIndex sends an index from the bottom up. A pusher that is given an index
// looks no further if the registry has its manifest, so it is first given the
// blobs, then the manifests of images. It remembers them, and asks once for each.
func pushIndex(ctx context.Context, pusher *remote.Pusher, repo name.Repository, index v1.ImageIndex) error {
	children, err := partial.Manifests(index)
	if err != nil {
		return err
	}
	var images []v1.Image
	var blobs []v1.Layer
	for _, child := range children {
		switch child := child.(type) {
		case v1.ImageIndex:
			if err := pushIndex(ctx, pusher, repo, child); err != nil {
				return err
			}
		case v1.Image:
			of, err := blobsOf(child)
			if err != nil {
				return err
			}
			images, blobs = append(images, child), append(blobs, of...)
		case v1.Layer:
			blobs = append(blobs, child)
		default:
			return fmt.Errorf("the index holds a %T, which cannot be pushed", child)
		}
	}
	if err := each(ctx, blobs, func(ctx context.Context, blob v1.Layer) error {
		return pusher.Upload(ctx, repo, blob)
	}); err != nil {
		return err
	}
	if err := each(ctx, images, func(ctx context.Context, img v1.Image) error {
		return pushManifest(ctx, pusher, repo, img)
	}); err != nil {
		return err
	}
	return pushManifest(ctx, pusher, repo, index)
}

func blobsOf(img v1.Image) ([]v1.Layer, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	config, err := partial.ConfigLayer(img)
	if err != nil {
		return nil, err
	}
	return append(layers, config), nil
}

// pushManifest sends what stands on its own by now: all that it names is there.
func pushManifest(ctx context.Context, pusher *remote.Pusher, repo name.Repository, m interface {
	remote.Taggable
	partial.Describable
}) error {
	digest, err := m.Digest()
	if err != nil {
		return err
	}
	return pusher.Push(ctx, repo.Digest(digest.String()), m)
}

// each calls f for all items, a few at once. The first failure ends the others.
func each[T any](ctx context.Context, items []T, f func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(pushJobs)
	for _, item := range items {
		g.Go(func() error { return f(ctx, item) })
	}
	return g.Wait()
}
