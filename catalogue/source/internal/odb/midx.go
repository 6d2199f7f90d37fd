package odb

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
)

// multiIndex is a multi-pack-index: one index for many packs. It is safe for
// concurrent use.
type multiIndex struct {
	table
	packs   []string // their names without an extension
	offsets int64
	large   int64
	wide    int64
}

// maxChunks bounds the chunks of a multi-pack-index, maxNames the bytes that the
// packs' names take.
const (
	maxChunks = 64
	maxNames  = 8 << 20
)

// openMultiIndex reads what does not grow with the number of objects.
func openMultiIndex(r io.ReaderAt, size int64, format Format) (*multiIndex, error) {
	var head [12]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	if string(head[:4]) != "MIDX" || head[4] != 1 || head[5] != 1+byte(format) || head[7] != 0 {
		return nil, corruptf("it is no multi-pack-index of a kind that is known")
	}
	chunks, err := readChunks(r, int(head[6]), size-int64(format.Size()))
	if err != nil {
		return nil, err
	}
	x := &multiIndex{table: table{r: r, idLen: format.Size(), stride: int64(format.Size())}}
	fan := chunks["OIDF"]
	if fan.size != fanSize {
		return nil, corruptf("it has no fan-out")
	}
	count, err := x.readFan(fan.at)
	if err != nil {
		return nil, err
	}
	ids, offsets, large, names := chunks["OIDL"], chunks["OOFF"], chunks["LOFF"], chunks["PNAM"]
	if ids.size != count*x.stride || offsets.size != count*8 || names.size > maxNames {
		return nil, corruptf("its parts do not fit its %d objects", count)
	}
	x.names, x.offsets, x.large, x.wide = ids.at, offsets.at, large.at, large.size/8
	x.packs, err = readNames(r, names, int64(binary.BigEndian.Uint32(head[8:])))
	return x, err
}

type chunk struct{ at, size int64 }

// readChunks reads the table of contents behind the header.
func readChunks(r io.ReaderAt, count int, end int64) (map[string]chunk, error) {
	if count > maxChunks {
		return nil, corruptf("it has %d parts", count)
	}
	raw := make([]byte, 12*(count+1))
	if err := readFull(r, raw, 12); err != nil {
		return nil, err
	}
	chunks := map[string]chunk{}
	for i := range count {
		at, next := binary.BigEndian.Uint64(raw[12*i+4:]), binary.BigEndian.Uint64(raw[12*i+16:])
		if at > next || int64(next) < 0 || int64(next) > end {
			return nil, corruptf("its part %d lies from %d to %d", i, at, next)
		}
		chunks[string(raw[12*i:12*i+4])] = chunk{int64(at), int64(next - at)}
	}
	return chunks, nil
}

func readNames(r io.ReaderAt, c chunk, count int64) ([]string, error) {
	raw := make([]byte, c.size)
	if err := readFull(r, raw, c.at); err != nil {
		return nil, err
	}
	if count > c.size/2 {
		return nil, corruptf("it names no %d packs", count)
	}
	packs := make([]string, 0, count)
	for range count {
		name, rest, ok := bytes.Cut(raw, []byte{0})
		base, isIndex := strings.CutSuffix(string(name), ".idx")
		if !ok || !isIndex || strings.ContainsAny(base, `/\`) {
			return nil, corruptf("it names the pack %q", name)
		}
		packs, raw = append(packs, base), rest
	}
	return packs, nil
}

// place returns in which pack, by its number, and where in it the object of that
// number begins.
func (x *multiIndex) place(n int64) (pack int, offset int64, err error) {
	var raw [8]byte
	if err := readFull(x.r, raw[:], x.offsets+8*n); err != nil {
		return 0, 0, err
	}
	number := binary.BigEndian.Uint32(raw[:4])
	if int64(number) >= int64(len(x.packs)) {
		return 0, 0, corruptf("an object is in pack %d of %d", number, len(x.packs))
	}
	pack, offset = int(number), int64(binary.BigEndian.Uint32(raw[4:]))
	if x.wide == 0 || offset < 1<<31 {
		return pack, offset, nil
	}
	if offset -= 1 << 31; offset >= x.wide {
		return 0, 0, corruptf("an object's offset is number %d of %d", offset, x.wide)
	}
	if err := readFull(x.r, raw[:], x.large+8*offset); err != nil {
		return 0, 0, err
	}
	offset, err = checkedOffset(raw)
	return pack, offset, err
}
