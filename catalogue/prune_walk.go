package catalogue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"strconv"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// maxPath is how long the path of a directory may be, in bytes: the PATH_MAX of
// Linux. It bounds how deep a walk goes into a tree that nobody could check out.
const maxPath = 4096

// walker prunes one tree for several images, which share most of their inputs:
// what they have in common is read and pruned once. It is safe for concurrent
// use.
type walker struct {
	under source.Objects
	made  *source.MemoryObjects // the trees of directories of which a part is left

	dockerfiles dockerfiles

	mu      sync.Mutex
	trees   map[source.ID][]source.Entry
	targets map[source.ID]string // of symbolic links
	left    map[visit]*remains
}

// visit is a directory and what the patterns say of it.
type visit struct {
	id  source.ID
	key cursorKey
}

func newWalker(objects source.Objects) *walker {
	return &walker{
		under: objects, made: source.NewMemory(),
		trees: map[source.ID][]source.Entry{}, targets: map[source.ID]string{}, left: map[visit]*remains{},
	}
}

var _ source.Objects = (*walker)(nil)

func (w *walker) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	w.mu.Lock()
	entries, ok := w.trees[id]
	w.mu.Unlock()
	if ok {
		return entries, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := w.under.Tree(ctx, id)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.trees[id] = entries
	w.mu.Unlock()
	return entries, nil
}

func (w *walker) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	return w.under.Blob(ctx, id)
}

func (w *walker) known(v visit) *remains {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left[v]
}

func (w *walker) remember(v visit, r *remains) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left[v] = r
}

// everything is the cursor of patterns that choose all that is inside.
var everything = cursor{{pattern: &pattern{}, matched: true}}

// cursorKey is a hash, since a cursor may stand for long patterns.
type cursorKey [sha256.Size]byte

// key returns the same for cursors that choose the same of any directory.
func (c cursor) key() cursorKey {
	var b bytes.Buffer
	for _, l := range c {
		switch {
		case l.matched && l.exclude:
			b.WriteString("!")
		case l.matched:
			b.WriteString("+")
		default:
			b.WriteString(strconv.Quote(l.text))
			b.WriteString(strconv.FormatUint(l.at, 16))
		}
	}
	return sha256.Sum256(b.Bytes())
}
