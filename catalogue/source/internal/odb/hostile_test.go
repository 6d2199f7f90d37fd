package odb

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// packed is an object as it stands in a pack.
type packed struct {
	id      byte // the ID begins with it, and all else is zero
	kind    Kind
	size    uint64 // that it says
	back    uint64 // how far back its base says to be
	base    byte   // the ID of its base
	content []byte
	raw     bool // content is not compressed
}

func (p packed) bytes() []byte {
	c, size := byte(p.kind)<<4|byte(p.size&15), p.size>>4
	var b []byte
	for ; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	b = append(b, c)
	switch p.kind {
	case ofsDelta:
		back := []byte{byte(p.back & 0x7f)}
		for v := p.back >> 7; v > 0; v >>= 7 {
			v--
			back = append([]byte{byte(v&0x7f) | 0x80}, back...)
		}
		b = append(b, back...)
	case refDelta:
		b = append(append(b, p.base), make([]byte, 19)...)
	}
	if p.raw {
		return append(b, p.content...)
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(p.content)
	w.Close()
	return append(b, z.Bytes()...)
}

// writePack writes a pack and its index, which says of each object where it is
// unless offsets says something else.
func writePack(t testing.TB, objects []packed, offsets map[byte]uint64) *DB {
	t.Helper()
	pack := append([]byte("PACK\x00\x00\x00\x02"), 0, 0, 0, byte(len(objects)))
	at := map[byte]uint64{}
	for _, o := range objects {
		at[o.id] = uint64(len(pack))
		pack = append(pack, o.bytes()...)
	}
	sum := sha1.Sum(pack)
	pack = append(pack, sum[:]...)

	slices.SortFunc(objects, func(a, b packed) int { return int(a.id) - int(b.id) })
	index := []byte("\xfftOc\x00\x00\x00\x02")
	for i := range 256 {
		n := 0
		for _, o := range objects {
			if int(o.id) <= i {
				n++
			}
		}
		index = binary.BigEndian.AppendUint32(index, uint32(n))
	}
	for _, o := range objects {
		index = append(append(index, o.id), make([]byte, 19)...)
	}
	index = append(index, make([]byte, 4*len(objects))...)
	var far []uint64
	for _, o := range objects {
		v := at[o.id]
		if said, ok := offsets[o.id]; ok {
			v = said
		}
		if v >= 1<<31 {
			far = append(far, v)
			v = 1<<31 + uint64(len(far)-1)
		}
		index = binary.BigEndian.AppendUint32(index, uint32(v))
	}
	for _, v := range far {
		index = binary.BigEndian.AppendUint64(index, v)
	}
	index = append(append(index, sum[:]...), make([]byte, 20)...)

	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pack"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"pack-x.pack": pack, "pack-x.idx": index} {
		if err := os.WriteFile(filepath.Join(dir, "pack", name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return New([]string{dir}, SHA1)
}

// size is a number of a delta's header.
func size(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// TestHostilePacks is not parallel: it counts what the process allocates.
func TestHostilePacks(t *testing.T) {
	const huge = 1 << 40
	copyAll := []byte{0x80} // 64 KiB from the start
	base := packed{id: 1, kind: Blob, size: 3, content: []byte("abc")}
	long := []packed{base}
	for i := range 200 {
		long = append(long, packed{id: byte(i + 2), kind: refDelta, base: byte(i + 1), size: 5, content: join(size(3), size(3), []byte{0x90, 3})})
	}
	for name, c := range map[string]struct {
		objects []packed
		offsets map[byte]uint64
		id      byte
	}{
		"a size of its own":     {objects: []packed{{id: 1, kind: Blob, size: 1 << 62, content: []byte("abc")}}, id: 1},
		"a size beyond 63 bits": {objects: []packed{{id: 1, kind: Blob, size: 1 << 63, content: []byte("abc")}}, id: 1},
		"some size":             {objects: []packed{{id: 1, kind: Blob, size: 60 << 20, content: []byte("abc")}}, id: 1},
		"less than it says":     {objects: []packed{{id: 1, kind: Blob, size: 4, content: []byte("abc")}}, id: 1},
		"more than it says":     {objects: []packed{{id: 1, kind: Blob, size: 2, content: []byte("abc")}}, id: 1},
		"not its ID":            {objects: []packed{base}, id: 1},
		"kind 0":                {objects: []packed{{id: 1, size: 3, content: []byte("abc")}}, id: 1},
		"kind 5":                {objects: []packed{{id: 1, kind: 5, size: 3, content: []byte("abc")}}, id: 1},
		"not compressed":        {objects: []packed{{id: 1, kind: Blob, size: 3, content: []byte("abcdef"), raw: true}}, id: 1},
		"a dictionary":          {objects: []packed{{id: 1, kind: Blob, size: 3, content: []byte{0x78, 0xbb, 1, 2, 3, 4, 5}, raw: true}}, id: 1},
		"nothing":               {objects: []packed{{id: 1, kind: Blob, size: 3, raw: true}}, id: 1},
		"behind the end":        {objects: []packed{base}, offsets: map[byte]uint64{1: 1 << 20}, id: 1},
		"far behind the end":    {objects: []packed{base}, offsets: map[byte]uint64{1: huge}, id: 1},
		"beyond 63 bits":        {objects: []packed{base}, offsets: map[byte]uint64{1: 1 << 63}, id: 1},
		"in the header":         {objects: []packed{base}, offsets: map[byte]uint64{1: 3}, id: 1},
		"its own base":          {objects: []packed{{id: 1, kind: refDelta, base: 1, size: 4, content: join(size(1), size(1), []byte{1, 'a'})}}, id: 1},
		"a circle": {objects: []packed{
			{id: 1, kind: refDelta, base: 2, size: 4, content: join(size(1), size(1), []byte{1, 'a'})},
			{id: 2, kind: refDelta, base: 1, size: 4, content: join(size(1), size(1), []byte{1, 'a'})},
		}, id: 2},
		"no base":            {objects: []packed{{id: 1, kind: refDelta, base: 2, size: 4, content: join(size(1), size(1), []byte{1, 'a'})}}, id: 1},
		"a base before all":  {objects: []packed{{id: 1, kind: ofsDelta, back: 12, size: 4, content: join(size(1), size(1), []byte{1, 'a'})}}, id: 1},
		"itself, by offset":  {objects: []packed{base, {id: 2, kind: ofsDelta, back: 0, size: 4, content: join(size(1), size(1), []byte{1, 'a'})}}, id: 2},
		"a base far back":    {objects: []packed{base, {id: 2, kind: ofsDelta, back: huge, size: 4, content: join(size(1), size(1), []byte{1, 'a'})}}, id: 2},
		"another base size":  {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 4, content: join(size(4), size(1), []byte{1, 'a'})}}, id: 2},
		"a delta of nothing": {objects: []packed{base, {id: 2, kind: refDelta, base: 1}}, id: 2},
		"half a size":        {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 1, content: []byte{0x83}}}, id: 2},
		"beyond the base":    {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 5, content: join(size(3), size(4), []byte{0x90, 4})}}, id: 2},
		"too little":         {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 5, content: join(size(3), size(9), []byte{0x90, 3})}}, id: 2},
		"too much":           {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 5, content: join(size(3), size(2), []byte{0x90, 3})}}, id: 2},
		"instruction 0":      {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 3, content: join(size(3), size(0), []byte{0})}}, id: 2},
		"half a copy":        {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 3, content: join(size(3), size(3), []byte{0x91})}}, id: 2},
		"a bomb":             {objects: []packed{base, {id: 2, kind: refDelta, base: 1, size: 9, content: join(size(3), size(huge), copyAll)}}, id: 2},
		"a long chain":       {objects: long, id: 201},
	} {
		t.Run(name, func(t *testing.T) {
			db := writePack(t, c.objects, c.offsets)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			id := ID{c.id}
			o, err := db.Read(t.Context(), id, KindsOf(Blob), 64<<20, nil)
			if err == nil && o.Data != nil || err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%+v, %v", o, err)
			}
			o, stream, err := db.Open(t.Context(), id)
			if err == nil {
				var n int64
				n, err = io.Copy(io.Discard, stream)
				stream.Close()
				if n > 1<<20 || err == nil && n != o.Size {
					t.Errorf("%d bytes were made, %v", n, err)
				}
			} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
				t.Error(err)
			}
			if _, err := db.WithPrefix("0100"); err != nil {
				t.Error(err)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
				t.Errorf("%d bytes were allocated", got)
			}
		})
	}
}

// TestDamagedMultiIndexesAreDoneWithout flips and cuts one everywhere.
func TestDamagedMultiIndexesAreDoneWithout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "", "init", "-q", "--bare")
	git(t, dir, "commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nxM 100644 inline f\ndata 1\nx\n", "fast-import", "--quiet")
	git(t, dir, "", "repack", "-q", "-a", "-d")
	git(t, dir, "", "multi-pack-index", "write")
	name := filepath.Join(dir, "objects/pack/multi-pack-index")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := SHA1.ParseID(git(t, dir, "", "rev-parse", "main")[:40])
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		broken := slices.Clone(whole)
		if broken[at] ^= 0xa5; at%3 == 0 {
			broken = broken[:at]
		}
		if err := os.WriteFile(name, broken, 0o644); err != nil {
			t.Fatal(err)
		}
		o, err := New([]string{filepath.Join(dir, "objects")}, SHA1).Read(t.Context(), id, KindsOf(Commit), 1<<20, nil)
		if err != nil || o.Data == nil {
			t.Fatalf("at %d: %+v, %v", at, o, err)
		}
	}
}
