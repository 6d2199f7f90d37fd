package source

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
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
	wide := len(entries) > 0 && len(entries[0].ID) == 2*sha256.Size
	return hashObject("tree", EncodeTree(entries), wide)
}

// HashBlob returns the SHA-1 ID of the blob object with this content.
func HashBlob(content []byte) ID { return hashObject("blob", content, false) }

func hashObject(kind string, content []byte, wide bool) ID {
	h := newHash(kind, int64(len(content)), wide)
	h.Write(content)
	return ID(hex.EncodeToString(h.Sum(nil)))
}

// newHash has taken in an object's header: its kind, its size and a NUL.
func newHash(kind string, size int64, wide bool) hash.Hash {
	h := sha1.New()
	if wide {
		h = sha256.New()
	}
	h.Write([]byte(kind + " " + strconv.FormatInt(size, 10) + "\x00"))
	return h
}
