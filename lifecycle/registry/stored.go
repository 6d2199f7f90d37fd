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
	return r.group(ctx, op, repo, tags, found)
}

// Stored implements [lifecycle.Registry]: it reads a manifest by its digest, and the
// indexes in it.
func (r *Registry) Stored(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.StoredImage, error) {
	const op = "read image"
	ref, err := r.digest(op, repository, digest)
	if err != nil {
		return lifecycle.StoredImage{}, err
	}
	desc, err := r.get(ctx, op, ref)
	if err != nil {
		return lifecycle.StoredImage{}, err
	}
	return r.describeStored(ctx, op, ref.Context(), desc)
}

// maxPages bounds the list of tags of a repository: a registry whose pages lead on
// for ever would never be done with.
const maxPages = 10_000

// errPages says that the pages of a list do not end.
var errPages = errors.New("its list of tags does not end: a page leads to one that was read already")

// tags returns the tags of a repository: none if the registry does not know it.
func (r *Registry) tags(ctx context.Context, op string, repo name.Repository) ([]string, error) {
	var tags []string
	err := r.retry.do(ctx, r.log, op, func(ctx context.Context) (err error) {
		tags, err = r.pages(ctx, repo)
		return err
	})
	if err != nil && ctx.Err() == nil && notFound(err) {
		return nil, nil
	}
	return tags, fail(ctx, op, repo, repo, err)
}

func (r *Registry) pages(ctx context.Context, repo name.Repository) ([]string, error) {
	list, err := r.puller.Lister(ctx, repo)
	if err != nil {
		return nil, err
	}
	var tags []string
	read := map[string]bool{}
	for list.HasNext() {
		page, err := list.Next(ctx)
		if err != nil {
			return nil, err
		}
		if tags = append(tags, page.Tags...); page.Next == "" {
			break
		}
		if read[page.Next] || len(read) == maxPages {
			return nil, errPages
		}
		read[page.Next] = true
	}
	slices.Sort(tags)
	return slices.Compact(tags), nil
}

// group puts the tags of one digest together.
func (r *Registry) group(ctx context.Context, op string, repo name.Repository, tags []string, found []*remote.Descriptor) ([]lifecycle.StoredImage, error) {
	byDigest := map[v1.Hash]*lifecycle.StoredImage{}
	for i, desc := range found {
		if desc == nil {
			continue
		}
		image := byDigest[desc.Digest]
		if image == nil {
			stored, err := r.describeStored(ctx, op, repo, desc)
			if err != nil {
				return nil, err
			}
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
	return images, nil
}

// describeStored tells an index that Pharos built from everything else, of which
// no more is known than what it names. The indexes that an index names are read too.
func (r *Registry) describeStored(ctx context.Context, op string, repo name.Repository, desc *remote.Descriptor) (lifecycle.StoredImage, error) {
	stored := lifecycle.StoredImage{Digest: lifecycle.Digest(desc.Digest.String())}
	seen := map[v1.Hash]bool{}
	for queue := []*remote.Descriptor{desc}; len(queue) > 0; queue = queue[1:] {
		if !queue[0].MediaType.IsIndex() {
			continue
		}
		index, err := v1.ParseIndexManifest(bytes.NewReader(queue[0].Manifest))
		if err != nil {
			continue
		}
		if queue[0] == desc {
			stored.Fingerprint = catalogue.Fingerprint(index.Annotations[keys.Fingerprint])
		}
		for _, m := range index.Manifests {
			if seen[m.Digest] {
				continue
			}
			seen[m.Digest] = true
			stored.Parts = append(stored.Parts, lifecycle.Digest(m.Digest.String()))
			if !m.MediaType.IsIndex() {
				continue
			}
			inner, err := r.get(ctx, op, repo.Digest(m.Digest.String()))
			switch {
			case err == nil:
				queue = append(queue, inner)
			case !errors.Is(err, lifecycle.ErrImageNotFound):
				return stored, err
			}
		}
	}
	slices.Sort(stored.Parts)
	return stored, nil
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
