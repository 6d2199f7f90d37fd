package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Resolve returns the digest that a reference such as "alpine:3" leads to now:
// of an image index or, where there is none, of an image. It is read in the way
// of Docker: a reference without a host is one of docker.io, one without a tag
// has the tag latest. That is one HEAD request, which registries that count
// pulls do not count.
//
// The error matches [lifecycle.ErrImageNotFound] if the registry has no such
// thing, [lifecycle.ErrSource] if it is no reference, and
// [lifecycle.ErrUnreachable] if the registry cannot be reached or refuses.
func (r *Registry) Resolve(ctx context.Context, reference string) (lifecycle.Digest, error) {
	const op = "resolve image"
	ref, err := r.reference(op, reference)
	if err != nil {
		return "", err
	}
	return r.head(ctx, op, ref)
}

// head asks for the digest behind a reference with a HEAD request, or reads it
// where the registry does not answer those.
func (r *Registry) head(ctx context.Context, op string, ref name.Reference) (lifecycle.Digest, error) {
	var desc *v1.Descriptor
	err := r.retry.do(ctx, r.log, op, func(ctx context.Context) (err error) {
		desc, err = r.puller.Head(ctx, ref)
		return err
	})
	switch {
	case err == nil:
		return lifecycle.Digest(desc.Digest.String()), nil
	case ctx.Err() == nil && poorHead(err):
		whole, err := r.get(ctx, op, ref)
		if err != nil {
			return "", err
		}
		return lifecycle.Digest(whole.Digest.String()), nil
	}
	return "", r.explain(ctx, op, ref, err)
}

// poorHead says that a registry does not answer HEAD requests, or answers
// without the headers that a client needs.
func poorHead(err error) bool {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return answer.StatusCode == http.StatusMethodNotAllowed || answer.StatusCode == http.StatusNotImplemented
	}
	return !errors.As(err, new(*url.Error)) && !errors.As(err, new(net.Error)) && !worthRetrying(err)
}

// Lacks returns which of the platforms, written as in a catalogue, the image or
// image index behind a reference has no image for; a variant is served by an
// image without one. The errors are those of [Registry.Resolve].
func (r *Registry) Lacks(ctx context.Context, reference string, platforms []string) ([]string, error) {
	const op = "read image"
	ref, err := r.reference(op, reference)
	if err != nil {
		return nil, err
	}
	desc, err := r.get(ctx, op, ref)
	if err != nil {
		return nil, err
	}
	have, err := r.platformsOf(ctx, op, ref, desc)
	if err != nil {
		return nil, err
	}
	var lacks []string
	for _, want := range platforms {
		if !slices.ContainsFunc(have, func(have string) bool { return serves(have, want) }) {
			lacks = append(lacks, want)
		}
	}
	return lacks, nil
}

// platformsOf returns what an index or an image is for. That of an image stands
// in its configuration, which is one more request.
func (r *Registry) platformsOf(ctx context.Context, op string, ref name.Reference, desc *remote.Descriptor) ([]string, error) {
	if desc.MediaType.IsIndex() {
		index, err := v1.ParseIndexManifest(bytes.NewReader(desc.Manifest))
		if err != nil {
			return nil, &lifecycle.Error{Op: op, On: ref.String(), Class: lifecycle.ErrSource, Err: fmt.Errorf("read the image index: %w", err)}
		}
		return platforms(index), nil
	}
	img, err := desc.Image()
	if err != nil {
		return nil, &lifecycle.Error{Op: op, On: ref.String(), Class: lifecycle.ErrSource, Err: err}
	}
	config, err := r.config(ctx, op, ref, img)
	if err != nil {
		return nil, err
	}
	return []string{platformName(*config.Platform())}, nil
}

func (r *Registry) config(ctx context.Context, op string, ref name.Reference, img v1.Image) (config *v1.ConfigFile, err error) {
	err = r.retry.do(ctx, r.log, op, func(context.Context) (err error) {
		config, err = img.ConfigFile()
		return err
	})
	return config, failRead(ctx, op, ref, err)
}

func (r *Registry) reference(op, reference string) (name.Reference, error) {
	ref, err := name.ParseReference(reference)
	if err == nil {
		ref, err = name.ParseReference(reference, r.nameOptions(ref.Context().RegistryStr())...)
	}
	if err != nil {
		return nil, badName(op, reference, err)
	}
	return ref, nil
}
