package source

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// Sizer is implemented by Objects that can tell how large a blob is without
// reading it.
type Sizer interface {
	// BlobSize returns the size of a blob in bytes, as the store says: the content
	// is held against the ID only when it is read.
	BlobSize(ctx context.Context, id ID) (int64, error)
}

var (
	_ Sizer = (*gitObjects)(nil)
	_ Sizer = overlay{}
)

// BlobSize returns the size of a blob in bytes: by [Sizer] if objects is one, and
// else by opening it. Errors are those of Objects.
func BlobSize(ctx context.Context, objects Objects, id ID) (int64, error) {
	if s, ok := objects.(Sizer); ok {
		return s.BlobSize(ctx, id)
	}
	r, size, err := objects.Blob(ctx, id)
	if err != nil {
		return 0, err
	}
	return size, r.Close()
}

// BlobSize implements Sizer.
func (o *gitObjects) BlobSize(ctx context.Context, id ID) (int64, error) {
	obj, err := o.read(ctx, id, odb.KindsOf(), 0, nil)
	if err == nil && obj.Kind != odb.Blob {
		err = fmt.Errorf("%w: it is a %s", ErrNotFound, obj.Kind)
	}
	if err != nil {
		return 0, fmt.Errorf("blob %s: %w", id, err)
	}
	return obj.Size, nil
}
