package odb

import (
	"bufio"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// inflater decompresses what lies in a file from an offset on: data of RFC 1950,
// whose checksum it does not heed, since objects have one of their own.
type inflater struct {
	section section
	in      *bufio.Reader
	flate   io.ReadCloser // a flate.Resetter
}

// inflaters keeps them: each takes some 50 KB, far more than most objects.
var inflaters = sync.Pool{New: func() any {
	z := &inflater{}
	z.in = bufio.NewReaderSize(&z.section, maxChunk)
	z.flate = flate.NewReader(z.in)
	return z
}}

// newInflater reads what lies between two offsets. The caller may read z.in,
// then starts to decompress, and closes it.
func newInflater(r io.ReaderAt, at, end int64) *inflater {
	z := inflaters.Get().(*inflater)
	z.section = section{r: r, at: at, end: end, chunk: firstChunk}
	z.in.Reset(&z.section)
	return z
}

// start starts to decompress data that is expected to have that many bytes.
func (z *inflater) start(size int64) error {
	// Git's own data is hardly ever larger than what it was made from.
	z.section.chunk = int(min(max(size, firstChunk), maxChunk))
	header, err := z.in.Peek(2)
	if err != nil {
		return z.failed(err)
	}
	if header[0]&0xf != 8 || header[1]&0x20 != 0 || (uint(header[0])<<8|uint(header[1]))%31 != 0 {
		return corruptf("it is not compressed as it should be")
	}
	z.in.Discard(2)
	return z.flate.(flate.Resetter).Reset(z.in, nil)
}

// failed tells an error of the file from one of what is in it.
func (z *inflater) failed(err error) error {
	if z.section.err != nil {
		return z.section.err
	}
	return fmt.Errorf("%w: unpack it: %w", ErrCorrupt, err)
}

// Read returns io.EOF at the end of the data only.
func (z *inflater) Read(p []byte) (int, error) {
	n, err := z.flate.Read(p)
	if err != nil && err != io.EOF {
		err = z.failed(err)
	}
	return n, err
}

// finish makes sure that there is no more.
func finish(r io.Reader) error {
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return corruptf("it is longer than it says")
	case err != io.EOF:
		return err
	}
	return nil
}

// short is the error for data that ended too early.
func short(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: it is shorter than it says", ErrCorrupt)
	}
	return err
}

// firstPiece is how much memory is taken for an object because of what it says
// of its size alone.
const firstPiece = 1 << 20

// read returns size bytes, which are to be all, in dst's memory if it has room.
func (z *inflater) read(dst []byte, size int64) ([]byte, error) { return readSized(z, dst, size) }

func readSized(r io.Reader, dst []byte, size int64) ([]byte, error) {
	dst = dst[:0]
	for done := int64(0); done < size; {
		next := min(size, max(firstPiece, 2*done, int64(cap(dst))))
		if int64(cap(dst)) < next {
			dst = append(make([]byte, 0, next), dst...)
		}
		dst = dst[:next]
		if _, err := io.ReadFull(r, dst[done:]); err != nil {
			return nil, short(err)
		}
		done = next
	}
	return dst, finish(r)
}

// close gives the inflater back; it must not be used any more.
func (z *inflater) close() {
	z.section.r = nil
	inflaters.Put(z)
}

const (
	firstChunk = 512
	maxChunk   = 16 << 10
)

// section reads a file up to an offset, not much more at a time than is needed.
type section struct {
	r       io.ReaderAt
	at, end int64
	chunk   int
	err     error // of the file, other than its end
}

func (s *section) Read(p []byte) (int, error) {
	if s.at >= s.end {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), int64(s.chunk), s.end-s.at)]
	n, err := s.r.ReadAt(p, s.at)
	s.at += int64(n)
	switch {
	case n > 0:
		return n, nil
	case err != nil && err != io.EOF:
		s.err = err
	}
	return 0, err
}
