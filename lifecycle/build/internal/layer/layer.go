package layer

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// Layer is a layer in a file, as long as that is there.
type Layer struct {
	file           string
	digest, diffID v1.Hash
	size           int64
	mediaType      types.MediaType
	gzipped        bool
}

var _ v1.Layer = (*Layer)(nil)

// Digest is that of the file.
func (l *Layer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID is the digest of the content before it was compressed.
func (l *Layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// Size is the file's, in bytes.
func (l *Layer) Size() (int64, error) { return l.size, nil }

// MediaType is what the layer was made as.
func (l *Layer) MediaType() (types.MediaType, error) { return l.mediaType, nil }

// Compressed opens the file.
func (l *Layer) Compressed() (io.ReadCloser, error) { return os.Open(l.file) }

// Uncompressed opens the content as it was before it was compressed.
func (l *Layer) Uncompressed() (io.ReadCloser, error) {
	f, err := os.Open(l.file)
	if err != nil || !l.gzipped {
		return f, err
	}
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return unzipped{r, f}, nil
}

// As returns the same layer under another media type.
func (l *Layer) As(mediaType types.MediaType) *Layer {
	same := *l
	same.mediaType = mediaType
	return &same
}

// Gzipped writes an archive, compressed with gzip, into a file, which must not
// be there yet.
func Gzipped(file string, mediaType types.MediaType, modes Modes, write func(*Archive) error) (*Layer, error) {
	return newLayer(file, mediaType, true, func(to io.Writer) error { return archive(to, modes, write) })
}

// Plain is Gzipped without the compression.
func Plain(file string, mediaType types.MediaType, modes Modes, write func(*Archive) error) (*Layer, error) {
	return newLayer(file, mediaType, false, func(to io.Writer) error { return archive(to, modes, write) })
}

// Blob writes content as it is.
func Blob(file string, mediaType types.MediaType, content io.Reader) (*Layer, error) {
	return newLayer(file, mediaType, false, func(to io.Writer) error {
		_, err := io.Copy(to, content)
		return err
	})
}

func archive(to io.Writer, modes Modes, write func(*Archive) error) error {
	a := &Archive{to: tar.NewWriter(to), modes: modes, has: map[string]bool{}}
	if err := write(a); err != nil {
		return err
	}
	return a.to.Close()
}

func newLayer(file string, mediaType types.MediaType, gzipped bool, write func(io.Writer) error) (l *Layer, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, 64<<10)
	compressed := newCounter(buffered)
	plain := compressed
	if gzipped {
		// The fastest level: a registry on the same network is served sooner by a
		// larger layer than by a later one.
		zip, err := gzip.NewWriterLevel(compressed, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		plain = newCounter(zip)
		if err := errors.Join(write(plain), zip.Close()); err != nil {
			return nil, err
		}
	} else if err := write(plain); err != nil {
		return nil, err
	}
	if err := buffered.Flush(); err != nil {
		return nil, err
	}
	return &Layer{
		file: file, digest: compressed.sum(), diffID: plain.sum(), size: compressed.n, mediaType: mediaType, gzipped: gzipped,
	}, nil
}

// counter hashes and counts what passes through it.
type counter struct {
	to   io.Writer
	hash hash.Hash
	n    int64
}

func newCounter(to io.Writer) *counter { return &counter{to: to, hash: sha256.New()} }

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.hash.Write(p[:n])
	c.n += int64(n)
	return n, err
}

func (c *counter) sum() v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(c.hash.Sum(nil))}
}

// unzipped closes the file below too.
type unzipped struct {
	*gzip.Reader
	file *os.File
}

func (u unzipped) Close() error { return errors.Join(u.Reader.Close(), u.file.Close()) }
