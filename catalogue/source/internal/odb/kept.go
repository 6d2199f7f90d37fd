package odb

import (
	"io"
	"sync/atomic"
)

const (
	// smallPack is how large a pack is whose parts are kept that were read, in
	// bytes.
	smallPack = 1 << 20
	// keptPart is how much of it is read at once: dozens of trees.
	keptPart = 8 << 10
)

// kept are the parts of a small file that were read, nil where none was. It is
// safe for concurrent use.
type kept [smallPack / keptPart]atomic.Pointer[[]byte]

// readAt is ReadAt of a file of which read is ReadAt. It may return fewer bytes
// without an error.
func (k *kept) readAt(read func([]byte, int64) (int, error), p []byte, off int64) (int, error) {
	number := off / keptPart
	if number >= int64(len(k)) {
		return read(p, off)
	}
	part := k[number].Load()
	if part == nil {
		data := make([]byte, keptPart)
		n, err := read(data, number*keptPart)
		if err != nil && err != io.EOF {
			return 0, err
		}
		data = data[:n]
		part = &data
		k[number].Store(part)
	}
	if skip := off - number*keptPart; skip < int64(len(*part)) {
		return copy(p, (*part)[skip:]), nil
	}
	return 0, io.EOF
}
