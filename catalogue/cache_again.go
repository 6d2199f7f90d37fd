package catalogue

import (
	"context"
	"slices"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// recalled are the directories of which the cache says what part is left. The
// trees of that are made only when somebody reads them. It is safe for concurrent
// use.
type recalled struct {
	mu   sync.Mutex
	made map[source.ID]visit // by what is left
	cut  int                 // their entries, and those below; some count several times
}

func (r *recalled) add(left *remains, of visit) {
	of.cursor = slices.Clone(of.cursor)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil {
		r.made = map[source.ID]visit{}
	}
	r.made[left.id] = of
	r.cut += left.cut
}

func (r *recalled) entries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut
}

func (r *recalled) find(id source.ID) (visit, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.made[id]
	return v, ok
}

func (r *recalled) forget(id source.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.made, id)
}

// over returns what is left of directories over the objects that it was left of.
func (w *walker) over(under source.Objects) source.Objects {
	made := source.Overlay(w.made, under)
	if w.slots == nil {
		return made
	}
	return again{made, w}
}

// again makes a tree that was recalled when it is read: the directory itself,
// while what is inside mostly is recalled in turn.
type again struct {
	source.Objects
	walker *walker
}

var _ source.Sizer = again{}

// Tree returns the entries of a tree.
func (a again) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if v, ok := a.walker.recalled.find(id); ok {
		p := pruning{walker: a.walker, again: true}
		if _, err := p.divide(ctx, v); err != nil {
			return nil, err
		}
		a.walker.recalled.forget(id)
	}
	return a.Objects.Tree(ctx, id)
}

// BlobSize implements source.Sizer.
func (a again) BlobSize(ctx context.Context, id source.ID) (int64, error) {
	return source.BlobSize(ctx, a.Objects, id)
}
