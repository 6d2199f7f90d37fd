package odb

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

// maxTemporary bounds what a base may take in a temporary file, in bytes.
const maxTemporary = 4 << 30

// Open opens an object to be read piece by piece; its reader must hold the
// content against the ID. A delta's bases are unpacked into temporary files, one
// after the other. The errors are those of Read.
func (db *DB) Open(ctx context.Context, id ID) (o Object, content io.ReadCloser, err error) {
	err = db.look(ctx, id, func(from origin) (err error) {
		if from.pack == nil {
			l, err := openLoose(from.path)
			if err != nil {
				return err
			}
			o = Object{Kind: l.kind, Size: l.size}
			content = &stream{r: l, left: l.size, closers: []func(){l.close}}
			return nil
		}
		s, err := from.pack.stream(ctx, from.at, &db.bases)
		if err != nil {
			return &FileError{Path: from.pack.data.path, Err: err}
		}
		o, content = Object{Kind: s.kind, Size: s.left}, s
		return nil
	})
	return o, content, err
}

// stream is the content of an object.
type stream struct {
	kind    Kind
	r       io.Reader
	left    int64
	closers []func() // the last one first
}

// Read returns an error if there is less or more than the object says.
func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		if err := finish(s.r); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, short(err)
}

// Close frees what the stream holds; it may be called again.
func (s *stream) Close() error {
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		s.closers[last]()
		s.closers = s.closers[:last]
	}
	return nil
}

// stream opens an object of the pack. The stream has a file of its own: it goes
// on if the pack is replaced.
func (p *pack) stream(ctx context.Context, at int64, known *bases) (_ *stream, err error) {
	p.data.mu.Lock()
	file, err := p.data.own()
	p.data.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s := &stream{closers: []func(){func() { file.Close() }}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	c, err := p.follow(ctx, file, at, known)
	if err != nil {
		return nil, err
	}
	s.kind, s.left = c.kind, c.size()
	if len(c.deltas) == 0 {
		s.r, s.closers = c.whole, append(s.closers, c.close)
		return s, nil
	}
	base, err := c.temporaryBase(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(c.deltas) - 1; ; i-- {
		d, z, err := c.apply(file, base, i)
		if err != nil {
			base.remove()
			return nil, err
		}
		if i == 0 {
			s.r, s.closers = d, append(s.closers, base.remove, z.close)
			return s, nil
		}
		next, err := temporary(ctx, d, c.deltas[i].result)
		z.close()
		base.remove()
		if err != nil {
			return nil, err
		}
		base = next
	}
}

// temporaryBase unpacks the object that is no delta.
func (c *chain) temporaryBase(ctx context.Context) (*temporaryFile, error) {
	defer c.close()
	if c.content != nil {
		return temporary(ctx, bytes.NewReader(c.content), c.baseSize)
	}
	return temporary(ctx, c.whole, c.baseSize)
}

// apply opens what the i-th delta makes of its base. The caller must close the
// inflater.
func (c *chain) apply(r io.ReaderAt, base *temporaryFile, i int) (*deltaReader, *inflater, error) {
	_, z, err := c.pack.open(r, c.deltas[i].at)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReader(z)
	head, err := in.Peek(maxDeltaHeader)
	if err != nil && err != io.EOF {
		z.close()
		return nil, nil, err
	}
	_, result, n, err := parseDelta(head)
	if err != nil {
		z.close()
		return nil, nil, err
	}
	in.Discard(n)
	return &deltaReader{base: base.f, baseSize: base.size, delta: in, raw: in, left: result}, z, nil
}

// temporaryFile is a file that goes away with the process.
type temporaryFile struct {
	f       *os.File
	size    int64
	removed bool // already, as can be where a file that is open can be removed
}

// temporary writes what r holds, which is to be that many bytes.
func temporary(ctx context.Context, r io.Reader, size int64) (*temporaryFile, error) {
	if size > maxTemporary {
		return nil, fmt.Errorf("%w: the base of a delta has %d bytes", ErrTooLarge, size)
	}
	f, err := os.CreateTemp("", "pharos-base-")
	if err != nil {
		return nil, err
	}
	t := &temporaryFile{f: f, size: size, removed: os.Remove(f.Name()) == nil}
	n, err := io.Copy(f, io.LimitReader(readerContext{ctx, r}, size))
	if err == nil && n < size {
		err = short(io.EOF)
	}
	if err == nil {
		err = finish(r)
	}
	if err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

func (t *temporaryFile) remove() {
	t.f.Close()
	if !t.removed {
		os.Remove(t.f.Name())
	}
}

// readerContext ends a copy with the context.
type readerContext struct {
	ctx context.Context
	r   io.Reader
}

func (r readerContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
