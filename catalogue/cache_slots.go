package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// slots are the answers in a cache. A question stands for all trees, such as what
// an image's patterns leave of the directory libs: its slot holds the answers for
// the trees for which it was asked last, so that a cache grows with the tree and
// not with the history.
type slots struct{ cache Cache }

// answersKept is how many answers a slot holds: for what is committed, and for
// what is edited.
const answersKept = 2

// The kinds of questions.
const (
	askRemains  = 'd' // what is left of a directory
	askLinks    = 'l' // whether all symbolic links lead to an input
	askPointers = 'p' // whether there is no Git LFS pointer
	askRecipe   = 'r' // what a recipe is built with and on
	askFile     = 'c' // what a pharos.yaml says
)

// question appends to buf what tells questions of a kind from all others.
func question(buf []byte, kind byte) []byte { return append(append(buf, program()...), kind) }

// slot returns the key of the answers to a question.
func slot(question []byte) CacheKey { return sha256.Sum256(question) }

// get returns the answer for a tree.
func (s slots) get(slot CacheKey, tree source.ID) (answerReader, bool) {
	value := s.cache.Get(slot)
	if len(value) == 0 {
		return answerReader{}, false
	}
	var buf [1 + sha256.Size]byte
	id, ok := appendID(buf[:0], tree)
	for ok {
		var answer []byte
		if answer, value, ok = cutAnswer(value); ok && bytes.HasPrefix(answer, id) {
			return answerReader{rest: string(answer[len(id):])}, true
		}
	}
	return answerReader{}, false
}

// put keeps an answer for a tree.
func (s slots) put(slot CacheKey, tree source.ID, answer []byte) {
	var idBuf [1 + sha256.Size]byte
	id, ok := appendID(idBuf[:0], tree)
	if !ok {
		return
	}
	var buf [256]byte // enough for most
	value := appendAnswer(buf[:0], id, answer)
	old := s.cache.Get(slot)
	for n := 1; n < answersKept; {
		var other []byte
		if other, old, ok = cutAnswer(old); !ok {
			break
		}
		if !bytes.HasPrefix(other, id) {
			value = appendAnswer(value, other, nil)
			n++
		}
	}
	s.cache.Put(slot, value)
}

func appendAnswer(buf, id, answer []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(id)+len(answer)))
	return append(append(buf, id...), answer...)
}

// cutAnswer takes the first answer off a slot's.
func cutAnswer(value []byte) (first, rest []byte, ok bool) {
	size, n := binary.Uvarint(value)
	if n <= 0 || size > uint64(len(value)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return value[n:end], value[end:], true
}

// appendText appends a text with its length, so that no two lists of texts give
// the same bytes.
func appendText(buf []byte, text string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(text))), text...)
}

// appendTexts appends a list, which may be nil.
func appendTexts(buf []byte, texts []string) []byte {
	if texts == nil {
		return append(buf, 0)
	}
	buf = binary.AppendUvarint(buf, uint64(len(texts)+1))
	for _, t := range texts {
		buf = appendText(buf, t)
	}
	return buf
}

// appendPairs appends a map, which may be nil.
func appendPairs(buf []byte, pairs map[string]string) []byte {
	if pairs == nil {
		return append(buf, 0)
	}
	buf = binary.AppendUvarint(buf, uint64(len(pairs)+1))
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		buf = appendText(appendText(buf, key), pairs[key])
	}
	return buf
}

// appendID appends an ID in binary form, with its length, and says whether it has
// one.
func appendID(buf []byte, id source.ID) ([]byte, bool) {
	if len(id) > 2*sha256.Size {
		return buf, false
	}
	buf = append(buf, byte(len(id)/2))
	start := len(buf)
	buf, err := hex.AppendDecode(buf, []byte(id))
	return buf, err == nil && hex.EncodeToString(buf[start:]) == string(id)
}
