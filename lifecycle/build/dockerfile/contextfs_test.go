package dockerfile_test

import (
	"context"
	"io"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// countingObjects counts the bytes that are read of blobs.
type countingObjects struct {
	source.Objects
	mu   sync.Mutex
	read int64
}

func (c *countingObjects) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	r, size, err := c.Objects.Blob(ctx, id)
	return &countingReader{r, c}, size, err
}

func (c *countingObjects) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read
}

type countingReader struct {
	io.ReadCloser
	count *countingObjects
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.count.mu.Lock()
	defer r.count.mu.Unlock()
	r.count.read += int64(n)
	return n, err
}
