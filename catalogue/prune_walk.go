package catalogue

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// walker prunes one tree for several images, which share most of their inputs:
// what they have in common is read and pruned once. It is safe for concurrent
// use.
type walker struct {
	under source.Objects
	made  *source.MemoryObjects // the trees of directories of which a part is left

	dockerfiles dockerfiles
	modules     modules
	texts       texts
	walks       sync.Pool // of *pruning

	mu      sync.Mutex
	targets map[source.ID]string // of symbolic links
	// attributes are the lines of .gitattributes that name Git LFS.
	attributes map[source.ID][]string
	pointers   map[string]*pointers // by visits
	left       map[string]*remains  // likewise

	slots    *slots // nil if there is no cache
	recalled recalled

	steps  atomic.Int64 // patterns that were held against names, for all images
	maxCut int          // of the entries in made; tests have a lower one
}

// visit is a directory of the tree, at which the patterns stand as the cursor
// says.
type visit struct {
	path string // with a slash at its end, empty for the root; it is for errors
	id   source.ID
	cursor
	slot CacheKey // of its question, once the cache was asked
}

// key appends to buf what tells the directory's ID and what the patterns say of it
// from all others.
func (v visit) key(buf []byte) []byte { return v.cursor.key(append(buf, v.id...)) }

// simplest has the same cursor for all patterns that choose everything.
func (v visit) simplest() visit {
	if v.coverage() == AllInside {
		v.cursor = everything
	}
	return v
}

func newWalker(objects source.Objects) *walker {
	return &walker{
		under: objects, made: source.NewMemory(), maxCut: maxCut,
		targets: map[source.ID]string{}, left: map[string]*remains{},
		attributes: map[source.ID][]string{}, pointers: map[string]*pointers{},
	}
}

var _ source.Objects = (*walker)(nil)

func (w *walker) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return w.under.Tree(ctx, id)
}

func (w *walker) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	return w.under.Blob(ctx, id)
}

func (w *walker) known(key []byte) *remains {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left[string(key)]
}

func (w *walker) remember(key string, r *remains) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) < maxKnown {
		w.left[key] = r
	}
}

// exhausted says whether the images take too much together: then none has a
// fingerprint, whichever of them came first.
func (w *walker) exhausted() error {
	switch {
	case w.made.TreeEntries()+w.recalled.entries() > w.maxCut:
		return &TooLargeError{What: "entries of directories that the patterns divide", Limit: maxCut}
	case w.steps.Load() > maxSteps:
		return &TooLargeError{What: "patterns for each name", Limit: maxSteps}
	}
	return nil
}

// everything is the cursor of patterns that choose all that is inside.
var everything = cursor{{pattern: &pattern{}, matched: true}}

// texts gives the same number to patterns of the same text. It is safe for
// concurrent use.
type texts struct {
	mu  sync.Mutex
	ids map[string]uint32
}

// cursor returns the patterns at the root of a tree, each with its number.
func (t *texts) cursor(p Patterns) cursor {
	c := p.root()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids == nil {
		t.ids = map[string]uint32{}
	}
	for i := range c {
		id, known := t.ids[c[i].text]
		if !known {
			id = uint32(len(t.ids))
			t.ids[c[i].text] = id
		}
		c[i].id = id
	}
	return c
}

// maxKey is how long a key may be that is kept as it is.
const maxKey = 64

// key appends to buf the same bytes for cursors with numbers of the same texts
// that choose the same of any directory.
func (c cursor) key(buf []byte) []byte {
	start := len(buf)
	for _, l := range c {
		switch {
		case l.matched && l.exclude:
			buf = append(buf, '!')
		case l.matched:
			buf = append(buf, '+')
		default:
			buf = append(buf, '=')
			buf = binary.LittleEndian.AppendUint32(buf, l.id)
			buf = binary.LittleEndian.AppendUint64(buf, l.at)
		}
	}
	if len(buf)-start > maxKey {
		sum := sha256.Sum256(buf[start:])
		buf = append(append(buf[:start], '#'), sum[:]...)
	}
	return buf
}
