package catalogue

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Cache keeps what was computed of trees, from one call or process to the next.
// Implementations are safe for concurrent use. One may forget at any time, but
// never gives back another value than the last one that was put under a key:
// package catalogue/cachefile keeps them in a file.
type Cache interface {
	// Get returns the value of a key, nil if there is none. The caller does not
	// modify it.
	Get(key CacheKey) []byte
	// Put replaces the value of a key by a copy of this one.
	Put(key CacheKey, value []byte)
}

// CacheKey stands for a question, in all programs that could answer it in
// another way.
type CacheKey [sha256.Size]byte

// Cached returns the tree with a cache beside its objects: States, StatesOf and
// SideOf then read the directories that differ from those of the trees that they
// were asked for before, and answer for the others from the cache. The answers
// are the same, errors included, but for one: an object that is missing, or
// broken, below a directory that is the same as before is not missed. Whoever
// reads the inputs, such as a build, is told then.
//
// A cache may serve any number of trees of any repositories. What it holds is
// trusted as much as the objects of the tree are.
func Cached(tree source.Tree, cache Cache) source.Tree {
	if cache != nil && tree.Objects != nil {
		tree.Objects = cached{tree.Objects, cache}
	}
	return tree
}

// cached is how a cache gets to where it is used.
type cached struct {
	objects source.Objects
	cache   Cache
}

var (
	_ source.Objects = cached{}
	_ source.Sizer   = cached{}
)

func (c cached) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	return c.objects.Tree(ctx, id)
}

func (c cached) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	return c.objects.Blob(ctx, id)
}

func (c cached) BlobSize(ctx context.Context, id source.ID) (int64, error) {
	return source.BlobSize(ctx, c.objects, id)
}
