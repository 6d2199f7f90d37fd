package transport

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// write writes an object.
func (p *repository) write(kind string, id source.ID, content []byte) error {
	return p.stream(context.Background(), kind, id, bytes.NewReader(content), int64(len(content)))
}

// stream writes an object as a loose one, see gitrepository-layout(5): the
// compressed header and content in a file that has the ID for a name. Its content
// must be what the ID says.
func (p *repository) stream(ctx context.Context, kind string, id source.ID, content io.Reader, size int64) (err error) {
	final := filepath.Join(p.objects(), string(id[:2]), string(id[2:]))
	if exists(final) {
		return nil
	}
	f, err := os.CreateTemp(p.objects(), temporaryPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // or a later call does
		}
	}()
	h := p.format.hash()
	z := zlib.NewWriter(f)
	both := io.MultiWriter(h, z)
	fmt.Fprintf(both, "%s %d\x00", kind, size) // what fails fails again below
	n, err := io.Copy(both, readerContext{ctx, content})
	if closeErr := z.Close(); err == nil {
		err = closeErr
	}
	// A power failure after the rename could leave an empty file under the name
	// otherwise, and git would never get over it.
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("copy %s %s: %w", kind, id, err)
	}
	if got := source.ID(hex.EncodeToString(h.Sum(nil))); got != id || n != size {
		return &readError{fmt.Errorf("%s %s: %w: its content is that of %s", kind, id, source.ErrCorrupt, got)}
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	return os.Rename(f.Name(), final)
}

// readerContext ends the copy of a large file with the context.
type readerContext struct {
	ctx context.Context
	r   io.Reader
}

func (r readerContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}
