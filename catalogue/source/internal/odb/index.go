package odb

import (
	"bytes"
	"encoding/binary"
	"io"
)

// index is that of a pack, of version 1 or 2. It is safe for concurrent use.
type index struct {
	table
	offsets int64 // where those of 4 bytes begin; in version 1 they stand in the table
	large   int64 // where those of 8 bytes begin
	wide    int64 // how many of these there are
	trailer []byte
}

const (
	// smallIndex is how large an index is that is kept in memory, in bytes: that
	// of some thousand objects, as a fetch or a day's work brings.
	smallIndex = 256 << 10
	// maxSmall is how many small packs are asked before all others.
	maxSmall = 8
)

var indexMagic = []byte("\xfftOc")

// openIndex reads what does not grow with the index.
func openIndex(r io.ReaderAt, size int64, format Format) (*index, error) {
	var raw []byte
	if size <= smallIndex {
		raw = make([]byte, size)
		if err := readFull(r, raw, 0); err != nil {
			return nil, err
		}
		r = bytes.NewReader(raw)
	}
	id := int64(format.Size())
	x := &index{table: table{r: r, raw: raw, idLen: int(id)}}
	var head [8]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	var count, least int64
	var err error
	if bytes.Equal(head[:4], indexMagic) {
		if v := binary.BigEndian.Uint32(head[4:]); v != 2 {
			return nil, corruptf("its version %d is none that is known", v)
		}
		if count, err = x.readFan(8); err != nil {
			return nil, err
		}
		x.names, x.stride = 8+fanSize, id
		x.offsets = x.names + count*(id+4) // there is a checksum of 4 bytes for each
		x.large = x.offsets + 4*count
		least = x.large + 2*id
		x.wide = (size - least) / 8
		if size < least || (size-least)%8 != 0 || x.wide > count {
			return nil, corruptf("it has %d bytes and says that it has %d objects", size, count)
		}
	} else {
		if count, err = x.readFan(0); err != nil {
			return nil, err
		}
		x.names, x.stride, x.skip = fanSize, id+4, 4
		if least = x.names + count*x.stride + 2*id; size != least {
			return nil, corruptf("it has %d bytes and says that it has %d objects", size, count)
		}
	}
	x.trailer = make([]byte, id) // the pack's own checksum; after it comes the index's
	return x, readFull(r, x.trailer, size-2*id)
}

// offset returns where in the pack the object of that number begins.
func (x *index) offset(n int64) (int64, error) {
	at := x.offsets + 4*n
	if x.offsets == 0 {
		at = x.names + n*x.stride
	}
	var raw [8]byte
	if err := readFull(x.r, raw[:4], at); err != nil {
		return 0, err
	}
	v := int64(binary.BigEndian.Uint32(raw[:4]))
	if x.offsets == 0 || v < 1<<31 {
		return v, nil
	}
	if v -= 1 << 31; v >= x.wide {
		return 0, corruptf("an object's offset is number %d of %d", v, x.wide)
	}
	if err := readFull(x.r, raw[:], x.large+8*v); err != nil {
		return 0, err
	}
	return checkedOffset(raw)
}

func checkedOffset(raw [8]byte) (int64, error) {
	v := binary.BigEndian.Uint64(raw[:])
	if v >= 1<<63 {
		return 0, corruptf("an object's offset is %d", v)
	}
	return int64(v), nil
}
