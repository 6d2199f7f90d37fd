package source

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// largeBlob reads a blob piece by piece. It opens it when it is first read:
// most callers only want to know the size.
type largeBlob struct {
	ctx     context.Context // of the call to Blob, as ends reading
	objects *gitObjects
	id      ID
	size    int64

	content io.ReadCloser
	sum     hash.Hash
	read    int64
}

func (b *largeBlob) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.content == nil {
		if err := b.start(); err != nil {
			return 0, fmt.Errorf("blob %s: %w", b.id, err)
		}
	}
	n, err := b.content.Read(p)
	b.read += int64(n)
	b.sum.Write(p[:n])
	if err == nil {
		return n, nil
	}
	if err != io.EOF {
		return n, fmt.Errorf("blob %s: %w", b.id, err)
	}
	if b.read != b.size {
		return n, fmt.Errorf("blob %s: %w: it has %d bytes and says that it has %d", b.id, ErrCorrupt, b.read, b.size)
	}
	if got := ID(hex.EncodeToString(b.sum.Sum(nil))); got != b.id {
		return n, fmt.Errorf("blob %s: %w: its content is that of %s", b.id, ErrCorrupt, got)
	}
	return n, io.EOF
}

func (b *largeBlob) start() error {
	db := b.objects.db
	id, _ := db.Format().ParseID(string(b.id)) // it was read before
	obj, content, err := db.Open(b.ctx, id)
	if err != nil {
		return b.objects.explain(err)
	}
	b.content, b.sum = content, db.Format().New(odb.Blob.String(), b.size)
	if obj.Kind != odb.Blob {
		return fmt.Errorf("%w: it is a %s now", ErrCorrupt, obj.Kind)
	}
	return nil
}

// Close may be called before all was read.
func (b *largeBlob) Close() error {
	if b.content == nil {
		return nil
	}
	return b.content.Close()
}
