package catalogue

import (
	"encoding/hex"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// answerReader reads what was appended. Once something else stands there it is
// bad, and what it returns means nothing.
type answerReader struct {
	rest string
	bad  bool
}

// done says whether everything was there, and nothing more.
func (r *answerReader) done() bool { return !r.bad && r.rest == "" }

// number reads what binary.AppendUvarint appends.
func (r *answerReader) number() int {
	v := uint64(0)
	for i := range min(len(r.rest), 9) {
		b := r.rest[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return int(v)
		}
	}
	r.bad = true
	return 0
}

func (r *answerReader) text() string {
	n := r.number()
	if n > len(r.rest) {
		r.bad = true
		return ""
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// count reads how many things follow, each of which takes a byte at least.
func (r *answerReader) count() int {
	n := r.number()
	if n > len(r.rest)+1 {
		r.bad = true
	}
	if r.bad {
		return 0
	}
	return n
}

func (r *answerReader) texts() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n-1)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *answerReader) pairs() map[string]string {
	n := r.count()
	if n == 0 {
		return nil
	}
	pairs := make(map[string]string, n-1)
	for range n - 1 {
		key := r.text()
		pairs[key] = r.text()
	}
	return pairs
}

func (r *answerReader) id() source.ID { return source.ID(hex.EncodeToString([]byte(r.text()))) }
