package catalogue

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// segment matches one name of a path, or any number of them.
type segment struct {
	kind   segmentKind
	name   string  // of exactName; what a name ends with, of anySuffix
	tokens []token // of glob
}

type segmentKind uint8

const (
	exactName segmentKind = iota
	anySuffix             // *.go
	glob
	anyName  // *
	anyDepth // **: no name, or one or more
)

// token matches one byte of a name, or any number of them.
type token struct {
	kind  tokenKind
	b     byte      // of exactByte
	not   bool      // of byteClass: what is not in class
	class *classSet // of byteClass
}

type tokenKind uint8

const (
	exactByte tokenKind = iota
	oneByte             // ?
	byteClass           // […]
	anyBytes            // *
)

// classSet is a set of ASCII characters.
type classSet [2]uint64

func (s *classSet) add(low, high byte) {
	for b := int(low); b <= int(high); b++ {
		s[b/64] |= 1 << (b % 64)
	}
}

func (s *classSet) has(b byte) bool { return b < 0x80 && s[b/64]&(1<<(b%64)) != 0 }

func (t *token) matches(b byte) bool {
	switch t.kind {
	case exactByte:
		return t.b == b
	case oneByte:
		return true
	default:
		return t.class.has(b) != t.not
	}
}

func (s *segment) matches(name string) bool {
	switch s.kind {
	case exactName:
		return s.name == name
	case anySuffix:
		return strings.HasSuffix(name, s.name)
	case glob:
		return matchTokens(s.tokens, name)
	default:
		return true
	}
}

// matchTokens goes back to the last star only: an earlier one could take no
// more than the later ones can, so the time is at most len(tokens) × len(name).
func matchTokens(tokens []token, name string) bool {
	star, retry := -1, 0
	t, n := 0, 0
	for n < len(name) {
		switch {
		case t < len(tokens) && tokens[t].kind == anyBytes:
			star, retry = t, n
			t++
		case t < len(tokens) && tokens[t].matches(name[n]):
			t++
			n++
		case star >= 0:
			retry++
			t, n = star+1, retry
		default:
			return false
		}
	}
	for t < len(tokens) && tokens[t].kind == anyBytes {
		t++
	}
	return t == len(tokens)
}

// cursor is a list of patterns at one directory of a tree: those patterns that
// can still match something in it, in order. A walk takes it along, so that
// every name is looked at once, however deep it lies.
type cursor []live

// live is a pattern at one directory.
type live struct {
	*pattern
	// id is the same for the same text, if texts gave it.
	id uint32
	// at holds the segments that the directory's next name may have to match,
	// one bit each.
	at uint64
	// matched says that the pattern names the directory, or one above it.
	matched bool
}

// root returns the cursor for the root of a tree.
func (p Patterns) root() cursor {
	c := make(cursor, len(p.list))
	for i := range p.list {
		c[i] = live{pattern: &p.list[i]}
		c[i].enter(0)
	}
	return c
}

// enter notes that segment i is the next to match.
func (l *live) enter(i int) {
	for {
		if i == len(l.segments) {
			l.matched = true
			return
		}
		l.at |= 1 << i
		if l.segments[i].kind != anyDepth {
			return
		}
		i++ // it may stand for no name at all
	}
}

// step returns the pattern behind name.
func (l live) step(name string) live {
	if l.matched {
		return l
	}
	next := live{pattern: l.pattern, id: l.id}
	for at := l.at; at != 0; at &= at - 1 {
		i := bits.TrailingZeros64(at)
		switch s := &l.segments[i]; {
		case s.kind == anyDepth:
			next.enter(i)
		case s.matches(name):
			next.enter(i + 1)
		}
	}
	return next
}

// misses says that the pattern matches nothing of that name, nor below it. It is
// for telling most patterns quickly: false may be wrong.
func (l *live) misses(name string) bool {
	if l.matched || l.at&(l.at-1) != 0 {
		return false
	}
	s := &l.segments[bits.TrailingZeros64(l.at)]
	return s.kind == exactName && s.name != name
}

// matches says whether the pattern matches the file name in its directory.
func (l *live) matches(name string) bool {
	last := len(l.segments) - 1
	return l.matched || l.at&(1<<last) != 0 && l.segments[last].matches(name)
}

// child returns the cursor for the directory name in the cursor's directory.
func (c cursor) child(name string) cursor { return c.childAfter(nil, name) }

// childAfter appends what child returns to others: nothing if no pattern can
// include what is below.
func (c cursor) childAfter(others cursor, name string) cursor {
	if !slices.ContainsFunc(c, func(l live) bool { return !l.exclude && !l.misses(name) }) {
		return others
	}
	start := len(others)
	for i := range c {
		if c[i].misses(name) {
			continue
		}
		next := c[i].step(name)
		switch {
		case next.matched:
			// It overrules all that stand before it, for everything below.
			others = append(others[:start], next)
		case next.at != 0:
			others = append(others, next)
		}
	}
	return others
}

// steps measures what it takes to hold the cursor's patterns against names: one
// for each pattern and name, and more where a pattern is long.
func (c cursor) steps(names []source.Entry) int64 {
	if len(c) == 1 && c[0].matched {
		return int64(len(names))
	}
	bytes, tokens := 0, 0
	for _, e := range names {
		bytes += len(e.Name)
	}
	for _, l := range c {
		tokens += l.tokens
	}
	return int64(len(names))*int64(len(c)) + int64(bytes)*int64(tokens)/64
}

// file says whether the file name in the cursor's directory is chosen: the last
// pattern that matches it decides.
func (c cursor) file(name string) bool {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].matches(name) {
			return !c[i].exclude
		}
	}
	return false
}

// coverage says what is chosen of the files below the cursor's directory.
func (c cursor) coverage() Coverage {
	got := NoneInside
	for _, l := range c {
		whole, other := AllInside, NoneInside
		if l.exclude {
			whole, other = NoneInside, AllInside
		}
		switch {
		case l.matchesAll():
			got = whole
		case got == other:
			got = LookInside
		}
	}
	return got
}

// matchesAll says whether the pattern matches every file below its directory.
func (l live) matchesAll() bool {
	last := len(l.segments) - 1
	return l.matched || l.segments[last].kind == anyName && l.at&(1<<last) != 0
}
