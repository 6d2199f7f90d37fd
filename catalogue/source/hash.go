package source

import (
	"bytes"
	"encoding/hex"
	"strconv"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// EncodeTree returns the content of the tree object with these entries, which
// must pass CheckEntries.
func EncodeTree(entries []Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(strconv.FormatUint(uint64(e.Mode), 8))
		b.WriteByte(' ')
		b.WriteString(e.Name)
		b.WriteByte(0)
		id, _ := hex.DecodeString(string(e.ID)) // CheckEntries has seen to it
		b.Write(id)
	}
	return b.Bytes()
}

// HashTree returns the ID of the tree object with these entries, which must
// pass CheckEntries: SHA-256 if their IDs have 64 digits, else SHA-1.
func HashTree(entries []Entry) ID {
	format := odb.SHA1
	if len(entries) > 0 && len(entries[0].ID) == 2*odb.SHA256.Size() {
		format = odb.SHA256
	}
	return hashObject(odb.Tree, EncodeTree(entries), format)
}

// HashBlob returns the SHA-1 ID of the blob object with this content.
func HashBlob(content []byte) ID { return hashObject(odb.Blob, content, odb.SHA1) }

func hashObject(kind odb.Kind, content []byte, format odb.Format) ID {
	return ID(format.Text(format.Sum(kind.String(), content)))
}
