package odb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// pack is a pack and its index. Both are opened when they are needed. It is safe
// for concurrent use.
type pack struct {
	name   string // without an extension
	format Format
	data   *file
	index  *file

	opened atomic.Pointer[index]
	end    atomic.Int64 // of the objects; 0 until the pack's header is checked

	mu     sync.Mutex // held while they are found out
	damage error      // that the index is corrupt
}

func newPack(fs *files, dir, name string, format Format) *pack {
	path := filepath.Join(dir, name)
	return &pack{
		name: name, format: format,
		data: &file{files: fs, path: path + ".pack"}, index: &file{files: fs, path: path + ".idx"},
	}
}

func (p *pack) changed() bool { return p.data.changed() || p.index.changed() }

func (p *pack) close() {
	p.data.files.remove(p.data)
	p.index.files.remove(p.index)
}

// idx returns the pack's index.
func (p *pack) idx() (*index, error) {
	if x := p.opened.Load(); x != nil {
		return x, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.opened.Load(); x != nil || p.damage != nil {
		return x, p.damage
	}
	size, err := p.index.size()
	if err != nil {
		return nil, err
	}
	x, err := openIndex(p.index, size, p.format)
	if err != nil {
		err = &FileError{Path: p.index.path, Err: err}
		if errors.Is(err, ErrCorrupt) {
			p.damage = err
		}
		return nil, err
	}
	p.opened.Store(x)
	return x, nil
}

// find returns where an object begins.
func (p *pack) find(id ID) (offset int64, ok bool, err error) {
	x, err := p.idx()
	if err != nil {
		return 0, false, err
	}
	n, ok, err := x.find(id)
	if ok && err == nil {
		offset, err = x.offset(n)
	}
	if err != nil {
		err = &FileError{Path: p.index.path, Err: err}
	}
	return offset, ok, err
}

const packHeader = 12

// objectsEnd returns where the pack's objects end. The first time it makes sure
// that it is a pack.
func (p *pack) objectsEnd() (int64, error) {
	if end := p.end.Load(); end > 0 {
		return end, nil
	}
	size, err := p.data.size()
	if err != nil {
		return 0, err
	}
	var head [packHeader]byte
	if err := readFull(p.data, head[:], 0); err != nil {
		return 0, err
	}
	version := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "PACK" || version < 2 || version > 3 {
		return 0, corruptf("it is no pack of a version that is known")
	}
	trailer := make([]byte, p.format.Size())
	end := size - int64(len(trailer))
	if end < packHeader {
		return 0, corruptf("it has %d bytes", size)
	}
	if err := readFull(p.data, trailer, end); err != nil {
		return 0, err
	}
	if x := p.opened.Load(); x != nil && !bytes.Equal(trailer, x.trailer) {
		return 0, corruptf("its index is that of another pack")
	}
	p.end.Store(end)
	return end, nil
}

// entry is the header of an object in a pack.
type entry struct {
	kind Kind
	size int64 // of what is compressed
	base int64 // of a delta: where its base begins
}

// maxEntryHeader is more than a header has, in bytes.
const maxEntryHeader = 64

// open reads the header of the object at an offset. What is compressed is read
// from the inflater, which the caller must close.
func (p *pack) open(r io.ReaderAt, at int64) (entry, *inflater, error) {
	end, err := p.objectsEnd()
	if err != nil {
		return entry{}, nil, err
	}
	if at < packHeader || at >= end {
		return entry{}, nil, corruptf("an object is said to begin at %d of %d", at, end)
	}
	z := newInflater(r, at, end)
	raw, err := z.in.Peek(maxEntryHeader)
	if err != nil && err != io.EOF {
		z.close()
		return entry{}, nil, z.failed(err)
	}
	e, n, err := p.parseEntry(raw, at)
	if err == nil {
		z.in.Discard(n)
		err = z.start(e.size)
	}
	if err != nil {
		z.close()
		return entry{}, nil, err
	}
	return e, z, nil
}

// parseEntry parses the header at an offset and returns its length.
func (p *pack) parseEntry(raw []byte, at int64) (e entry, n int, err error) {
	c, n := next(raw, 0)
	e.kind, e.size = Kind(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, n = next(raw, n); shift > 56 || n > len(raw) {
			return e, 0, corruptf("the header of the object at %d does not end", at)
		}
		e.size |= int64(c&0x7f) << shift
	}
	switch {
	case e.size < 0:
		return e, 0, corruptf("the object at %d is said to be larger than can be", at)
	case e.kind == ofsDelta:
		var back int64
		if back, n = parseBack(raw, n); back <= 0 || back > at-packHeader {
			return e, 0, corruptf("the base of the object at %d is no object before it", at)
		}
		e.base = at - back
	case e.kind == refDelta:
		var id ID
		if n += copy(id[:p.format.Size()], raw[min(n, len(raw)):]); n > len(raw) {
			break
		}
		var ok bool
		if e.base, ok, err = p.find(id); err == nil && !ok {
			err = corruptf("the base of the object at %d is not in its pack", at)
		}
	case !e.kind.valid():
		return e, 0, corruptf("the object at %d is of the unknown kind %d", at, e.kind)
	}
	if err == nil && n >= len(raw) {
		err = corruptf("the object at %d does not end within the pack", at)
	}
	return e, n, err
}

// next returns the byte at n; 0 behind the end, as n then shows.
func next(raw []byte, n int) (byte, int) {
	if n >= len(raw) {
		return 0, n + 1
	}
	return raw[n], n + 1
}

// parseBack parses how far before a delta its base begins; 0 if that is not said
// within 63 bits.
func parseBack(raw []byte, n int) (int64, int) {
	c, n := next(raw, n)
	back := int64(c & 0x7f)
	for c&0x80 != 0 {
		if back >= 1<<55 {
			return 0, n
		}
		c, n = next(raw, n)
		back = (back+1)<<7 | int64(c&0x7f)
	}
	return back, n
}
