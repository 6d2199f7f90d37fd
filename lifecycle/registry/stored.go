package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// List implements [lifecycle.Registry]. It reads the list of tags and what each
// of them leads to. A tag that goes meanwhile is left out.
func (r *Registry) List(ctx context.Context, repository string) ([]lifecycle.StoredImage, error) {
	const op = "list images"
	repo, err := r.repository(op, repository)
	if err != nil {
		return nil, err
	}
	tags, err := r.tags(ctx, op, repo)
	if err != nil {
		return nil, err
	}
	found := make([]*remote.Descriptor, len(tags))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(pullJobs)
	for i, tag := range tags {
		g.Go(func() (err error) {
			found[i], err = r.get(gctx, op, repo.Tag(tag))
			if errors.Is(err, lifecycle.ErrImageNotFound) {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return group(tags, found), nil
}

// tags returns the tags of a repository: none if the registry does not know it.
func (r *Registry) tags(ctx context.Context, op string, repo name.Repository) ([]string, error) {
	var tags []string
	err := r.retry.do(ctx, r.log, op, func(ctx context.Context) (err error) {
		tags, err = r.puller.List(ctx, repo)
		return err
	})
	if err != nil && ctx.Err() == nil && notFound(err) {
		return nil, nil
	}
	return tags, fail(ctx, op, repo, repo, err)
}

// group puts the tags of one digest together.
func group(tags []string, found []*remote.Descriptor) []lifecycle.StoredImage {
	byDigest := map[v1.Hash]*lifecycle.StoredImage{}
	for i, desc := range found {
		if desc == nil {
			continue
		}
		image := byDigest[desc.Digest]
		if image == nil {
			stored := describeStored(desc)
			image = &stored
			byDigest[desc.Digest] = image
		}
		image.Tags = append(image.Tags, tags[i])
	}
	var images []lifecycle.StoredImage
	for _, image := range byDigest {
		slices.Sort(image.Tags)
		images = append(images, *image)
	}
	slices.SortFunc(images, func(a, b lifecycle.StoredImage) int { return cmp.Compare(a.Digest, b.Digest) })
	return images
}

// describeStored tells an index that Pharos built from everything else, of which
// nothing more is known.
func describeStored(desc *remote.Descriptor) lifecycle.StoredImage {
	stored := lifecycle.StoredImage{Digest: lifecycle.Digest(desc.Digest.String())}
	if !desc.MediaType.IsIndex() {
		return stored
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(desc.Manifest))
	if err != nil {
		return stored
	}
	stored.Fingerprint = catalogue.Fingerprint(index.Annotations[keys.Fingerprint])
	for _, m := range index.Manifests {
		stored.Parts = append(stored.Parts, lifecycle.Digest(m.Digest.String()))
	}
	slices.Sort(stored.Parts)
	return stored
}

// Delete implements [lifecycle.Registry]: it deletes the manifest, and then the
// tags of the image that still lead to it, which some registries leave. The
// manifest comes first: without a tag nobody would find it again.
//
// The error matches [lifecycle.ErrUnreachable], and says what to do, if the
// registry does not allow it.
func (r *Registry) Delete(ctx context.Context, repository string, image lifecycle.StoredImage) error {
	const op = "delete image"
	ref, err := r.digest(op, repository, image.Digest)
	if err != nil {
		return err
	}
	if err := r.remove(ctx, op, ref); err != nil {
		return err
	}
	for _, tag := range image.Tags {
		tagged := ref.Context().Tag(tag)
		at, err := r.head(ctx, op, tagged)
		if err == nil && at == image.Digest {
			err = r.remove(ctx, op, tagged)
		}
		if err != nil && !errors.Is(err, lifecycle.ErrImageNotFound) {
			return err
		}
	}
	return nil
}

func (r *Registry) remove(ctx context.Context, op string, ref name.Reference) error {
	pusher, err := remote.NewPusher(r.options(pushJobs)...)
	if err != nil {
		return &lifecycle.Error{Op: op, On: ref.String(), Err: err}
	}
	err = r.retry.do(ctx, r.log, op, func(ctx context.Context) error { return pusher.Delete(ctx, ref) })
	if err != nil && ctx.Err() == nil && noDeletes(err) {
		return &lifecycle.Error{Op: op, On: ref.String(), Class: lifecycle.ErrUnreachable, Err: &cause{text: describe(err), err: err},
			Advice: fmt.Sprintf("The registry %s does not allow deletes: allow them in its configuration (CNCF Distribution: storage.delete.enabled), or delete there by its own means.",
				ref.Context().RegistryStr())}
	}
	return r.explain(ctx, op, ref, err)
}

// noDeletes says whether a registry answered that it deletes nothing.
func noDeletes(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusMethodNotAllowed || answer.StatusCode == http.StatusNotImplemented)
}
