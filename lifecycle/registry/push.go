package registry

import (
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Push annotates the index with the fingerprint, sends what the repository does
// not have yet, and returns the digest of the annotated index. When all of it is
// there, it moves the fingerprint's tag to it. A push that is tried again
// sends no blob twice.
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
	index, ok := mutate.Annotations(index, map[string]string{keys.Fingerprint: string(fp)}).(v1.ImageIndex)
	if !ok {
		return "", &lifecycle.Error{Op: op, On: repository, Err: errNotAnIndex}
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
		func(ctx context.Context) error { return pusher.Push(ctx, ref, index) },
		func(ctx context.Context) error { return pusher.Put(ctx, repo.Tag(tag), index) },
	} {
		if err := r.retry.do(ctx, r.log, op, step); err != nil {
			return "", fail(ctx, op, ref, repo, err)
		}
	}
	return lifecycle.Digest(digest.String()), nil
}
