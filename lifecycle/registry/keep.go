package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Keep implements [lifecycle.Registry]. Where the tag is there, it only asks, for
// which nobody needs the right to push.
func (r *Registry) Keep(ctx context.Context, repository string, digest lifecycle.Digest) error {
	const op = "tag image"
	ref, err := r.digest(op, repository, digest)
	if err != nil {
		return err
	}
	tag := ref.Context().Tag(lifecycle.DigestTag(digest))
	at, err := r.head(ctx, op, tag)
	if err == nil && at == digest {
		return nil
	}
	if err != nil && !errors.Is(err, lifecycle.ErrImageNotFound) {
		return err
	}
	desc, err := r.get(ctx, op, ref)
	if err != nil {
		return err
	}
	pusher, err := remote.NewPusher(r.options(pushJobs)...)
	if err != nil {
		return &lifecycle.Error{Op: op, On: ref.String(), Err: fmt.Errorf("set up a registry client: %w", err)}
	}
	// The manifest alone: what it names is there, or was lost, which Verify finds.
	err = r.retry.do(ctx, r.log, op, func(ctx context.Context) error { return pusher.Put(ctx, tag, desc) })
	return fail(ctx, op, ref, ref.Context(), err)
}
