package odb

import (
	"bytes"
	"encoding/binary"
	"io"
	"sort"
	"sync"
)

// table is a sorted table of object IDs in a file, with its fan-out: for every
// first byte, how many IDs begin with it or a lower one. Indexes of packs and
// multi-pack-indexes have one.
type table struct {
	r      io.ReaderAt
	raw    []byte // all of the file, if it is small
	fan    [256]uint32
	names  int64 // where the first entry begins
	stride int64 // from one entry to the next
	skip   int64 // of an entry's bytes, those before its ID
	idLen  int
}

const fanSize = 4 * 256

// readFan reads a fan-out and returns how many IDs there are.
func (t *table) readFan(at int64) (int64, error) {
	var raw [fanSize]byte
	if err := readFull(t.r, raw[:], at); err != nil {
		return 0, err
	}
	for i := range t.fan {
		t.fan[i] = binary.BigEndian.Uint32(raw[4*i:])
		if i > 0 && t.fan[i] < t.fan[i-1] {
			return 0, corruptf("the fan-out is out of order at %d", i)
		}
	}
	return int64(t.fan[255]), nil
}

// readFull reads all of p. A file that ends too early is corrupt.
func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return corruptf("it ends at %d, before %d", at+int64(n), at+int64(len(p)))
	}
	return err
}

// window is how many entries are read at once: twice as far as an ID hardly ever
// lies from where it would if all were evenly spread.
const window = 128

var windows = sync.Pool{New: func() any { return new([window * (len(ID{}) + 4)]byte) }}

// entries returns some entries, in buf if they have to be read.
func (t *table) entries(buf []byte, first, count int64) ([]byte, error) {
	at, size := t.names+first*t.stride, count*t.stride
	if t.raw != nil {
		return t.raw[at : at+size], nil
	}
	return buf[:size], readFull(t.r, buf[:size], at)
}

// find returns the number of the first entry that is not before id, and whether
// it is id itself. It looks first where id is if the IDs are evenly spread, and
// halves what is left if they are not.
func (t *table) find(id ID) (n int64, ok bool, err error) {
	buf := windows.Get().(*[window * (len(ID{}) + 4)]byte)
	defer windows.Put(buf)
	low, high := int64(0), int64(t.fan[id[0]])
	if id[0] > 0 {
		low = int64(t.fan[id[0]-1])
	}
	key := int64(binary.BigEndian.Uint32(id[1:]))
	lowKey, highKey := int64(0), int64(1)<<32
	for step := 0; low < high; step++ {
		count := min(high-low, window)
		guess := low + (high-low)/2
		if step < 3 && lowKey <= key && key < highKey {
			guess = low + int64(float64(high-low)*float64(key-lowKey)/float64(highKey-lowKey))
		}
		start := min(max(guess-count/2, low), high-count)
		raw, err := t.entries(buf[:], start, count)
		if err != nil {
			return 0, false, err
		}
		at := func(i int64) []byte { return raw[i*t.stride+t.skip:][:t.idLen] }
		i := int64(sort.Search(int(count), func(i int) bool { return bytes.Compare(at(int64(i)), id[:t.idLen]) >= 0 }))
		switch {
		case i == 0 && start > low && !bytes.Equal(at(0), id[:t.idLen]):
			high, highKey = start, int64(binary.BigEndian.Uint32(at(0)[1:]))
		case i == count && start+count < high:
			low, lowKey = start+count, int64(binary.BigEndian.Uint32(at(count - 1)[1:]))
		default:
			return start + i, i < count && bytes.Equal(at(i), id[:t.idLen]), nil
		}
	}
	return low, false, nil
}

// from calls f for the IDs from an entry on, until f returns false.
func (t *table) from(n int64, f func(ID) bool) error {
	buf := windows.Get().(*[window * (len(ID{}) + 4)]byte)
	defer windows.Put(buf)
	for all := int64(t.fan[255]); n < all; {
		count := min(all-n, window)
		raw, err := t.entries(buf[:], n, count)
		if err != nil {
			return err
		}
		for i := range count {
			var id ID
			copy(id[:t.idLen], raw[i*t.stride+t.skip:])
			if !f(id) {
				return nil
			}
		}
		n += count
	}
	return nil
}
