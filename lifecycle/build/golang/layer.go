package golang

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// programFolder is where the program stands in the image.
const programFolder = "/app"

// layer is a compressed layer in a file. It was compressed once, and both its
// digests were taken on the way.
type layer struct {
	file           string
	digest, diffID v1.Hash
	size           int64
	mediaType      types.MediaType
}

var _ v1.Layer = (*layer)(nil)

func (l *layer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return l.diffID, nil }
func (l *layer) Size() (int64, error)                 { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return l.mediaType, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return os.Open(l.file) }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return uncompressed(l.file) }

// newLayer compresses what write writes into the file "to". The archive is the
// same wherever and whenever the same things are written.
func newLayer(to string, mediaType types.MediaType, write func(*tar.Writer) error) (l *layer, err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	compressed := &counter{to: f, hash: sha256.New()}
	// The fastest level: a registry on the same network is served sooner by a
	// larger layer than by a later one.
	zip, err := gzip.NewWriterLevel(compressed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	plain := &counter{to: zip, hash: sha256.New()}
	archive := tar.NewWriter(plain)
	if err := write(archive); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return &layer{file: to, digest: compressed.sum(), diffID: plain.sum(), size: compressed.n, mediaType: mediaType}, nil
}

// as returns the same layer under another media type.
func (l *layer) as(mediaType types.MediaType) *layer {
	same := *l
	same.mediaType = mediaType
	return &same
}

// header describes a file that belongs to root, that all may read and run, and
// that is of no time.
func header(kind byte, name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Size: size, Mode: 0o555, ModTime: time.Unix(0, 0)}
}

// writeProgram puts a program at /app/<name>.
func writeProgram(to *tar.Writer, program, name string) error {
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := to.WriteHeader(header(tar.TypeDir, programFolder[1:]+"/", 0)); err != nil {
		return err
	}
	if err := to.WriteHeader(header(tar.TypeReg, path.Join(programFolder, name)[1:], info.Size())); err != nil {
		return err
	}
	_, err = io.Copy(to, f)
	return err
}

// counter hashes and counts what passes through it.
type counter struct {
	to   io.Writer
	hash hash.Hash
	n    int64
}

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

func uncompressed(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return unzipped{r, f}, nil
}
