package odb

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"sync"
)

// Format is the hash function of a repository's object IDs.
type Format uint8

// The formats.
const (
	SHA1 Format = iota
	SHA256
)

// Size is the length of a binary ID in bytes.
func (f Format) Size() int {
	if f == SHA256 {
		return sha256.Size
	}
	return sha1.Size
}

// New returns a hash that has taken in an object's header: its kind, its size in
// bytes and a NUL.
func (f Format) New(kind string, size int64) hash.Hash {
	h := sha1.New()
	if f == SHA256 {
		h = sha256.New()
	}
	h.Write(appendHeader(nil, kind, size))
	return h
}

// Sum returns the ID of the object with this content.
func (f Format) Sum(kind string, content []byte) ID {
	s := sums[f].Get().(*sum)
	defer sums[f].Put(s)
	s.hash.Reset()
	s.hash.Write(appendHeader(s.buf[:0], kind, int64(len(content))))
	s.hash.Write(content)
	var id ID
	copy(id[:], s.hash.Sum(s.buf[:0]))
	return id
}

// sum is what computing an ID takes, kept for the next one.
type sum struct {
	hash hash.Hash
	buf  [64]byte
}

var sums = [...]sync.Pool{
	SHA1:   {New: func() any { return &sum{hash: sha1.New()} }},
	SHA256: {New: func() any { return &sum{hash: sha256.New()} }},
}

func appendHeader(b []byte, kind string, size int64) []byte {
	b = append(append(b, kind...), ' ')
	return append(strconv.AppendInt(b, size, 10), 0)
}

// ID is a binary object ID. What is behind the format's size is zero.
type ID [sha256.Size]byte

// ParseID reads an ID of lower-case hexadecimal digits, as many as the format
// has.
func (f Format) ParseID(s string) (id ID, ok bool) {
	if len(s) != 2*f.Size() {
		return id, false
	}
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'F' {
			return id, false
		}
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil
}

// Text returns the ID in lower-case hexadecimal digits.
func (f Format) Text(id ID) string { return hex.EncodeToString(id[:f.Size()]) }

// Kind is what an object is, by its number in packs.
type Kind uint8

// The kinds of objects.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
	Tag    Kind = 4

	ofsDelta Kind = 6
	refDelta Kind = 7
)

var kindNames = [...]string{Commit: "commit", Tree: "tree", Blob: "blob", Tag: "tag"}

// String returns git's name for the kind.
func (k Kind) String() string {
	if !k.valid() {
		return "object of the unknown kind " + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

func (k Kind) valid() bool { return k >= Commit && k <= Tag }

func parseKind(s string) (Kind, bool) {
	for k := Commit; k <= Tag; k++ {
		if kindNames[k] == s {
			return k, true
		}
	}
	return 0, false
}

// Kinds is a set of kinds.
type Kinds uint8

// KindsOf returns the set of these kinds.
func KindsOf(kinds ...Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has says whether the kind is in the set.
func (s Kinds) Has(k Kind) bool { return s&(1<<k) != 0 }
