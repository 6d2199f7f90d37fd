package dockerfile

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// unpacking is where BuildKit writes an OCI layout to, as a tar archive. Close
// returns when all of it is in a folder, with what went wrong on the way.
type unpacking struct {
	*io.PipeWriter
	done  chan error
	broke atomic.Pointer[error]
}

func newUnpacking(dir string) *unpacking {
	r, w := io.Pipe()
	u := &unpacking{PipeWriter: w, done: make(chan error, 1)}
	go func() {
		err := unpack(r, dir)
		if err != nil {
			u.broke.Store(&err)
		}
		// Further writes fail with it.
		u.done <- errors.Join(err, r.CloseWithError(err))
	}()
	return u
}

// Close implements io.Closer.
func (u *unpacking) Close() error {
	return errors.Join(u.PipeWriter.Close(), <-u.done)
}

// failed is what went wrong here, as soon as it did.
func (u *unpacking) failed() error {
	if err := u.broke.Load(); err != nil {
		return *err
	}
	return nil
}

// layoutFile is a file of an OCI layout.
var layoutFile = lazyregexp.New(`^(oci-layout|index\.json|blobs/sha256/[0-9a-f]{64})$`)

// unpack writes the files of an OCI layout into a folder, and nothing else.
func unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700); err != nil {
		return err
	}
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			// What follows the end is read too, or the sender would wait.
			_, err = io.Copy(io.Discard, r)
			return err
		}
		switch {
		case err != nil:
			return fmt.Errorf("read the image that BuildKit sends: %w", err)
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg || !layoutFile.MatchString(h.Name):
			return fmt.Errorf("the image that BuildKit sends holds %q, which is no file of an OCI layout", h.Name)
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(h.Name)), archive); err != nil {
			return err
		}
	}
}

func writeFile(name string, content io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
