package source

import (
	"strconv"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// EncodeTree returns the content of the tree object with these entries, which
// must pass CheckEntries.
func EncodeTree(entries []Entry) []byte {
	size := 0
	for i := range entries {
		size += len("100644 ") + len(entries[i].Name) + 1 + len(entries[i].ID)/2
	}
	b, _ := appendTree(make([]byte, 0, size), entries)
	return b
}

// appendTree also says which entry is the first whose ID is not of the form that
// the first one's has; -1 if there is none.
func appendTree(b []byte, entries []Entry) (_ []byte, bad int) {
	bad = -1
	for i := range entries {
		e := &entries[i]
		switch e.Mode {
		case ModeFile:
			b = append(b, "100644 "...)
		case ModeDir:
			b = append(b, "40000 "...)
		default:
			b = append(strconv.AppendUint(b, uint64(e.Mode), 8), ' ')
		}
		b = append(append(b, e.Name...), 0)
		var ok bool
		if b, ok = appendID(b, e.ID); bad < 0 && (!ok || len(e.ID) != len(entries[0].ID)) {
			bad = i
		}
	}
	return b, bad
}

// digits are the values of the hexadecimal digits that an ID has; 0xff for other
// characters.
var digits = func() (d [256]byte) {
	for i := range d {
		d[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		d[c] = byte(i)
	}
	return d
}()

// appendID appends the binary form of an ID and says whether it has one.
func appendID(b []byte, id ID) ([]byte, bool) {
	var invalid byte
	for i := 1; i < len(id); i += 2 {
		high, low := digits[id[i-1]], digits[id[i]]
		invalid |= high | low
		b = append(b, high<<4|low)
	}
	return b, invalid < 0x10 && (len(id) == 2*odb.SHA1.Size() || len(id) == 2*odb.SHA256.Size())
}

// HashTree returns the ID of the tree object with these entries, which must
// pass CheckEntries: SHA-256 if their IDs have 64 digits, else SHA-1.
func HashTree(entries []Entry) ID {
	return hashObject(odb.Tree, EncodeTree(entries), formatOf(entries))
}

func formatOf(entries []Entry) odb.Format {
	if len(entries) > 0 && len(entries[0].ID) == 2*odb.SHA256.Size() {
		return odb.SHA256
	}
	return odb.SHA1
}

// HashBlob returns the SHA-1 ID of the blob object with this content.
func HashBlob(content []byte) ID { return hashObject(odb.Blob, content, odb.SHA1) }

func hashObject(kind odb.Kind, content []byte, format odb.Format) ID {
	return ID(format.Text(format.Sum(kind.String(), content)))
}
