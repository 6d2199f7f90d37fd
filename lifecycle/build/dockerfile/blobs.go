package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	digest "github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// blobs are those of an OCI layout in a folder, for BuildKit to read.
type blobs struct{ dir string }

var _ content.Store = blobs{}

// Info implements content.Store.
func (b blobs) Info(_ context.Context, dgst digest.Digest) (content.Info, error) {
	name, err := b.file(dgst)
	if err != nil {
		return content.Info{}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return content.Info{}, missing(dgst, err)
	}
	return content.Info{Digest: dgst, Size: info.Size(), CreatedAt: info.ModTime(), UpdatedAt: info.ModTime()}, nil
}

// ReaderAt implements content.Store.
func (b blobs) ReaderAt(_ context.Context, desc ocispecs.Descriptor) (content.ReaderAt, error) {
	name, err := b.file(desc.Digest)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, missing(desc.Digest, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &blob{f, info.Size()}, nil
}

// The rest would write, or look for what has no digest: BuildKit may not.

// Update implements content.Store.
func (blobs) Update(context.Context, content.Info, ...string) (content.Info, error) {
	return content.Info{}, errdefs.ErrNotImplemented
}

// Walk implements content.Store.
func (blobs) Walk(context.Context, content.WalkFunc, ...string) error {
	return errdefs.ErrNotImplemented
}

// Delete implements content.Store.
func (blobs) Delete(context.Context, digest.Digest) error { return errdefs.ErrNotImplemented }

// Status implements content.Store.
func (blobs) Status(context.Context, string) (content.Status, error) {
	return content.Status{}, errdefs.ErrNotImplemented
}

// ListStatuses implements content.Store.
func (blobs) ListStatuses(context.Context, ...string) ([]content.Status, error) {
	return nil, errdefs.ErrNotImplemented
}

// Abort implements content.Store.
func (blobs) Abort(context.Context, string) error { return errdefs.ErrNotImplemented }

// Writer implements content.Store.
func (blobs) Writer(context.Context, ...content.WriterOpt) (content.Writer, error) {
	return nil, errdefs.ErrNotImplemented
}

func (b blobs) file(dgst digest.Digest) (string, error) {
	if err := dgst.Validate(); err != nil || dgst.Algorithm() != digest.SHA256 {
		return "", fmt.Errorf("%q: %w", dgst, errdefs.ErrInvalidArgument)
	}
	return filepath.Join(b.dir, "blobs", "sha256", dgst.Encoded()), nil
}

func missing(dgst digest.Digest, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("content %s: %w", dgst, errdefs.ErrNotFound)
	}
	return err
}

type blob struct {
	*os.File
	size int64
}

// Size implements content.ReaderAt.
func (b *blob) Size() int64 { return b.size }
