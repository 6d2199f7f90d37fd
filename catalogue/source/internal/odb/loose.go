package odb

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// loosePath is that of a loose object.
func loosePath(dir, id string) string {
	return dir + string(filepath.Separator) + id[:2] + string(filepath.Separator) + id[2:]
}

// maxLooseHeader is more than the header of a loose object has, in bytes.
const maxLooseHeader = 32

// loose is a loose object whose header was read. The caller must close it.
type loose struct {
	file *os.File
	z    *inflater
	rest []byte // what was read of the content with the header
	kind Kind
	size int64
	head [512]byte
}

func openLoose(path string) (*loose, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, gone(err)
	}
	l := &loose{file: f, z: newInflater(f, 0, math.MaxInt64)}
	if err := l.readHeader(); err != nil {
		l.close()
		return nil, &FileError{Path: path, Err: err}
	}
	return l, nil
}

// readHeader reads the kind, a space, the size in decimal, and a NUL.
func (l *loose) readHeader() error {
	if err := l.z.start(firstChunk); err != nil {
		return err
	}
	n := 0
	for n < maxLooseHeader && bytes.IndexByte(l.head[:n], 0) < 0 {
		more, err := l.z.Read(l.head[n:])
		if n += more; more == 0 && err != nil {
			return short(err)
		}
	}
	head, rest, ok := bytes.Cut(l.head[:n], []byte{0})
	kind, size, _ := bytes.Cut(head, []byte{' '})
	l.kind, _ = parseKind(string(kind))
	var err error
	l.size, err = strconv.ParseInt(string(size), 10, 64)
	if !ok || err != nil || !l.kind.valid() || l.size < 0 || size[0] == '+' {
		return corruptf("it begins with %q", head[:min(len(head), maxLooseHeader)])
	}
	l.rest = rest
	l.z.section.chunk = int(min(max(l.size, firstChunk), maxChunk))
	return nil
}

// Read reads the content.
func (l *loose) Read(p []byte) (int, error) {
	if len(l.rest) > 0 {
		n := copy(p, l.rest)
		l.rest = l.rest[n:]
		return n, nil
	}
	return l.z.Read(p)
}

// read returns all of the content, in scratch if it has room.
func (l *loose) read(scratch []byte) ([]byte, error) { return readSized(l, scratch, l.size) }

func (l *loose) close() {
	l.z.close()
	l.file.Close()
}

var _ io.Reader = (*loose)(nil)
