package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// errNotAnIndex says that a digest or tag leads to something else.
var errNotAnIndex = errors.New("it is not an image index")

// Has implements [lifecycle.Registry]: it asks with one HEAD request, which
// registries that count pulls do not count, whether the index is there. What it
// is the digest says; what it names is taken for there: [Registry.Verify] asks.
func (r *Registry) Has(ctx context.Context, repository string, digest lifecycle.Digest) error {
	const op = "look for image"
	ref, err := r.digest(op, repository, digest)
	if err != nil {
		return err
	}
	_, err = r.head(ctx, op, ref)
	return err
}

// Lookup reads the index of a digest, which is one request. What the index names
// is taken for there: [Registry.Verify] asks. What stands behind the digest and
// is not an image index is an error; it matches [lifecycle.ErrImageNotFound] if
// the repository does not have the digest.
func (r *Registry) Lookup(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.RegistryImage, error) {
	const op = "look up image"
	ref, err := r.digest(op, repository, digest)
	if err != nil {
		return lifecycle.RegistryImage{}, err
	}
	found, _, err := r.read(ctx, op, ref)
	return found, err
}

// Find implements [lifecycle.Registry]: it follows the fingerprint's tag, and
// then goes by the annotation of the index alone. What it finds is complete, as
// by [Registry.Verify]: nobody has run it yet.
func (r *Registry) Find(ctx context.Context, repository string, fp catalogue.Fingerprint) (lifecycle.RegistryImage, error) {
	const op = "find image"
	repo, err := r.repository(op, repository)
	if err != nil {
		return lifecycle.RegistryImage{}, err
	}
	tag, err := Tag(fp)
	if err != nil {
		return lifecycle.RegistryImage{}, &lifecycle.Error{Op: op, On: repository, Err: err}
	}
	ref := repo.Tag(tag)
	found, desc, err := r.read(ctx, op, ref)
	if errors.Is(err, errNotAnIndex) || err == nil && found.Fingerprint != fp {
		return lifecycle.RegistryImage{}, &lifecycle.Error{
			Op: op, On: ref.String(), Err: fmt.Errorf("%w: the tag leads to something else", lifecycle.ErrImageNotFound),
		}
	}
	if err == nil {
		err = r.verify(ctx, op, ref, desc)
	}
	if err != nil {
		return lifecycle.RegistryImage{}, err
	}
	return found, nil
}

// Tag is the tag that an image of a fingerprint is found by: "fp-" and the 64
// hexadecimal digits. It proves nothing: a tag can be moved.
func Tag(fp catalogue.Fingerprint) (string, error) {
	digits, ok := strings.CutPrefix(string(fp), "sha256:")
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a fingerprint", string(fp))
	}
	return lifecycle.FingerprintTag(fp), nil
}

// digest is a reference to one digest of a repository.
func (r *Registry) digest(op, repository string, digest lifecycle.Digest) (name.Digest, error) {
	repo, err := r.repository(op, repository)
	if err != nil {
		return name.Digest{}, err
	}
	return r.pinned(op, repo.Name()+"@"+string(digest))
}

func (r *Registry) read(ctx context.Context, op string, ref name.Reference) (lifecycle.RegistryImage, *remote.Descriptor, error) {
	desc, err := r.get(ctx, op, ref)
	if err != nil {
		return lifecycle.RegistryImage{}, nil, err
	}
	found, err := parse(desc)
	if err != nil {
		return lifecycle.RegistryImage{}, nil, &lifecycle.Error{Op: op, On: ref.String(), Err: err}
	}
	return found, desc, nil
}

// get reads a manifest, of which go-containerregistry checks the digest.
func (r *Registry) get(ctx context.Context, op string, ref name.Reference) (*remote.Descriptor, error) {
	var desc *remote.Descriptor
	err := r.retry.do(ctx, r.log, op, func(ctx context.Context) (err error) {
		desc, err = r.puller.Get(ctx, ref)
		return err
	})
	return desc, r.explain(ctx, op, ref, err)
}

// explain makes an error of what an operation on a reference ended with, which
// may be that there is no such thing.
func (r *Registry) explain(ctx context.Context, op string, ref name.Reference, err error) error {
	if err != nil && ctx.Err() == nil && notFound(err) {
		return &lifecycle.Error{
			Op: op, On: ref.String(), Err: &cause{text: lifecycle.ErrImageNotFound.Error(), err: errors.Join(lifecycle.ErrImageNotFound, err)},
		}
	}
	return failRead(ctx, op, ref, err)
}

func parse(desc *remote.Descriptor) (lifecycle.RegistryImage, error) {
	if !desc.MediaType.IsIndex() {
		return lifecycle.RegistryImage{}, fmt.Errorf("%w but %q", errNotAnIndex, desc.MediaType)
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(desc.Manifest))
	if err != nil {
		return lifecycle.RegistryImage{}, fmt.Errorf("read the image index: %w", err)
	}
	return lifecycle.RegistryImage{
		Digest:      lifecycle.Digest(desc.Digest.String()),
		Platforms:   platforms(index),
		Fingerprint: catalogue.Fingerprint(index.Annotations[keys.Fingerprint]),
		Toolchain:   index.Annotations[keys.Toolchain],
	}, nil
}

// platforms returns what an index has images for, sorted.
func platforms(index *v1.IndexManifest) []string {
	var names []string
	for _, m := range index.Manifests {
		// Attestations stand in an index as images of an unknown platform.
		if p := m.Platform; p != nil && m.MediaType.IsImage() && p.OS != "unknown" && p.OS != "" {
			names = append(names, platformName(*p))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// platformName spells a platform as a catalogue does.
func platformName(p v1.Platform) string {
	return catalogue.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}.Normal().String()
}
