package odb

import "io"

// A delta says the size of its base, that of what it makes, and how: pieces of
// the base and new bytes, see "Deltified representation" in gitformat-pack(5).

// maxDeltaHeader is the most that both sizes take, in bytes.
const maxDeltaHeader = 20

// parseDelta parses both sizes and returns where the instructions begin.
func parseDelta(raw []byte) (base, result int64, n int, err error) {
	if base, n, err = deltaSize(raw, 0); err == nil {
		result, n, err = deltaSize(raw, n)
	}
	return base, result, n, err
}

func deltaSize(raw []byte, n int) (size int64, _ int, err error) {
	for shift := 0; n < len(raw) && shift < 63; shift += 7 {
		c := raw[n]
		n++
		size |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			return size, n, nil
		}
	}
	return 0, 0, corruptf("a delta does not say its sizes")
}

// applyDelta fills out by the instructions of a delta.
func applyDelta(out, base, delta []byte) error {
	n := 0
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			size := int(op)
			if size == 0 || size > len(delta) || size > len(out)-n {
				return errDelta
			}
			copy(out[n:], delta[:size])
			n, delta = n+size, delta[size:]
			continue
		}
		var at, size int64
		for i := range 7 {
			if op&(1<<i) == 0 {
				continue
			}
			if len(delta) == 0 {
				return errDelta
			}
			at, size = copyArgument(at, size, i, delta[0])
			delta = delta[1:]
		}
		if size == 0 {
			size = wholeCopy
		}
		if at > int64(len(base)) || size > int64(len(base))-at || size > int64(len(out)-n) {
			return errDelta
		}
		n += copy(out[n:], base[at:at+size])
	}
	if n < len(out) {
		return errDelta
	}
	return nil
}

var errDelta = corruptf("a delta does not make what it says")

// wholeCopy is the size that a copy has that says none.
const wholeCopy = 0x10000

// copyArgument takes in the i-th byte of a copy: four of the offset, then three
// of the size.
func copyArgument(at, size int64, i int, b byte) (int64, int64) {
	if i < 4 {
		return at | int64(b)<<(8*i), size
	}
	return at, size | int64(b)<<(8*(i-4))
}

// deltaReader applies a delta piece by piece.
type deltaReader struct {
	base     io.ReaderAt
	baseSize int64
	delta    io.ByteReader
	raw      io.Reader // the same as delta
	left     int64     // of the result

	copying   bool
	at, piece int64 // what is left of the present instruction
}

func (d *deltaReader) Read(p []byte) (int, error) {
	if d.left == 0 {
		if _, err := d.delta.ReadByte(); err != io.EOF {
			return 0, either(err, errDelta)
		}
		return 0, io.EOF
	}
	if d.piece == 0 {
		if err := d.instruction(); err != nil {
			return 0, short(err)
		}
	}
	p = p[:min(int64(len(p)), d.piece)]
	var n int
	var err error
	if d.copying {
		n, err = d.base.ReadAt(p, d.at)
		d.at += int64(n)
	} else {
		n, err = d.raw.Read(p)
	}
	d.piece -= int64(n)
	d.left -= int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, short(err)
}

func either(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (d *deltaReader) instruction() error {
	op, err := d.delta.ReadByte()
	if err != nil {
		return err
	}
	d.copying = op&0x80 != 0
	d.piece = int64(op)
	if d.copying {
		d.at, d.piece = 0, 0
		for i := range 7 {
			if op&(1<<i) == 0 {
				continue
			}
			b, err := d.delta.ReadByte()
			if err != nil {
				return err
			}
			d.at, d.piece = copyArgument(d.at, d.piece, i, b)
		}
		if d.piece == 0 {
			d.piece = wholeCopy
		}
		if d.at > d.baseSize || d.piece > d.baseSize-d.at {
			return errDelta
		}
	}
	if d.piece == 0 || d.piece > d.left {
		return errDelta
	}
	return nil
}
