package odb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func FuzzIndex(f *testing.F) {
	db := writePack(f, []packed{{id: 1, kind: Blob, size: 3, content: []byte("abc")}, {id: 7, kind: Blob}}, map[byte]uint64{7: 1 << 33})
	raw, err := os.ReadFile(filepath.Join(db.dirs[0], "pack", "pack-x.idx"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, []byte{7})
	old := append(bytes.Clone(raw[8:8+fanSize]), make([]byte, 2*24+40)...) // of version 1
	old[fanSize+4], old[fanSize+28] = 1, 7
	f.Add(old, []byte{1})
	f.Fuzz(func(t *testing.T, raw, prefix []byte) {
		var id ID
		copy(id[:], prefix)
		for _, format := range []Format{SHA1, SHA256} {
			x, err := openIndex(bytes.NewReader(raw), int64(len(raw)), format)
			if err != nil {
				expect(t, err)
				continue
			}
			n, ok, err := x.find(id)
			expect(t, err)
			if ok {
				_, err = x.offset(n)
				expect(t, err)
			}
			all := 0
			expect(t, x.from(0, func(ID) bool { all++; return true }))
			if all > len(raw)/format.Size() {
				t.Errorf("%d IDs in %d bytes", all, len(raw))
			}
		}
	})
}

func FuzzMultiIndex(f *testing.F) {
	dir := f.TempDir()
	git(f, dir, "", "init", "-q", "--bare")
	git(f, dir, "commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nxM 100644 inline f\ndata 1\nx\n", "fast-import", "--quiet")
	git(f, dir, "", "repack", "-q", "-a", "-d")
	git(f, dir, "", "multi-pack-index", "write")
	raw, err := os.ReadFile(filepath.Join(dir, "objects/pack/multi-pack-index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, []byte{0x78})
	f.Fuzz(func(t *testing.T, raw, prefix []byte) {
		var id ID
		copy(id[:], prefix)
		x, err := openMultiIndex(bytes.NewReader(raw), int64(len(raw)), SHA1)
		if err != nil {
			expect(t, err)
			return
		}
		n, ok, err := x.find(id)
		expect(t, err)
		if ok {
			number, at, err := x.place(n)
			expect(t, err)
			if number < 0 || err == nil && number >= len(x.packs) || at < 0 {
				t.Errorf("pack %d, %d", number, at)
			}
		}
	})
}

// expect takes no other error than that something is corrupt.
func expect(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
		t.Errorf("an error of no known kind: %v", err)
	}
}

// FuzzPackEntry reads whatever stands behind an object that is whole.
func FuzzPackEntry(f *testing.F) {
	whole := packed{id: 1, kind: Blob, size: 3, content: []byte("abc")}
	delta := join(size(3), size(7), []byte{0x90, 3, 4, 'd', 'e', 'f', 'g'})
	for _, p := range []packed{
		whole,
		{kind: ofsDelta, back: uint64(len(whole.bytes())), size: uint64(len(delta)), content: delta},
		{kind: refDelta, base: 1, size: uint64(len(delta)), content: delta},
		{kind: Tree, size: 1 << 40},
	} {
		f.Add(p.bytes())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		db := writePack(t, []packed{whole, {id: 2, kind: Kind(first(raw) >> 4 & 7), raw: true}}, nil)
		name := filepath.Join(db.dirs[0], "pack", "pack-x.pack")
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := packHeader + len(whole.bytes())
		trailer := content[len(content)-20:]
		if err := os.WriteFile(name, join(content[:at], raw, trailer), 0o644); err != nil {
			t.Fatal(err)
		}
		o, err := db.Read(t.Context(), ID{2}, KindsOf(Commit, Tree, Blob, Tag), 1<<20, nil)
		expect(t, err)
		if err == nil && o.Data != nil {
			t.Error("an object of that ID cannot be")
		}
		s, err := db.snapshot.Load().dirs[0].packs[0].stream(t.Context(), int64(at), &db.bases)
		if err != nil {
			expect(t, err)
			return
		}
		defer s.Close()
		_, err = io.Copy(io.Discard, io.LimitReader(s, 1<<20))
		expect(t, err)
	})
}

func first(raw []byte) byte {
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// FuzzDelta has a delta applied at once and piece by piece.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("abcdef"), []byte{0x91, 1, 3, 2, 'x', 'y'}, uint16(5))
	f.Add([]byte("abcdef"), []byte{0x90, 6, 0xb0, 0, 1}, uint16(300))
	f.Fuzz(func(t *testing.T, base, delta []byte, size uint16) {
		out := make([]byte, size)
		err := applyDelta(out, base, delta)
		in := bytes.NewReader(delta)
		got, streamErr := io.ReadAll(&deltaReader{base: bytes.NewReader(base), baseSize: int64(len(base)), delta: in, raw: in, left: int64(size)})
		if (err == nil) != (streamErr == nil) || err == nil && !bytes.Equal(out, got) {
			t.Errorf("%x, %v; piece by piece %x, %v", out, err, got, streamErr)
		}
		b, r, n, err := parseDelta(delta)
		if err == nil && (b < 0 || r < 0 || n > len(delta)) {
			t.Errorf("%d, %d, %d", b, r, n)
		}
		if want, k := binary.Uvarint(delta); err == nil && k > 0 && int64(want) != b {
			t.Errorf("%d, want %d", b, want)
		}
	})
}
