package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// ErrCorrupt is returned for an object whose content is not what its ID says,
// or that cannot be unpacked.
var ErrCorrupt = errors.New("corrupt object")

// maxTree bounds the objects that are parsed, in bytes: a tree of this size
// holds more than a million entries.
const maxTree = 64 << 20

// gitObjects reads a repository's object stores: its own and its alternates.
// go-git's are not safe for concurrent use, so one object is read at a time.
type gitObjects struct {
	open    func() []*filesystem.Storage
	partial bool // a partial clone

	mu     sync.Mutex
	stores []*filesystem.Storage

	trees treeCache
}

var _ Objects = (*gitObjects)(nil)

// Tree returns the entries of a tree object.
func (o *gitObjects) Tree(ctx context.Context, id ID) ([]Entry, error) {
	if entries, ok := o.trees.get(id); ok {
		return entries, ctx.Err()
	}
	_, raw, err := o.read(ctx, plumbing.TreeObject, id)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	entries, err := ParseTree(raw, len(id)/2)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	o.trees.put(id, entries)
	return entries, nil
}

// Blob opens a blob object. One larger than MaxFile is streamed, from stores of
// its own: go-git reads a delta's base in the background.
func (o *gitObjects) Blob(ctx context.Context, id ID) (io.ReadCloser, int64, error) {
	size, raw, err := o.blob(ctx, id)
	if err != nil {
		return nil, 0, fmt.Errorf("blob %s: %w", id, err)
	}
	if size > MaxFile {
		return &largeBlob{ctx: ctx, objects: o, id: id, size: size}, size, nil
	}
	return io.NopCloser(bytes.NewReader(raw)), size, nil
}

func (o *gitObjects) blob(ctx context.Context, id ID) (size int64, raw []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err = o.with(ctx, o.stores, plumbing.BlobObject, id, func(obj plumbing.EncodedObject) error {
		if size = obj.Size(); size > MaxFile {
			return nil
		}
		raw, err = content(obj, id, MaxFile)
		return err
	})
	return size, raw, err
}

func (o *gitObjects) read(ctx context.Context, kind plumbing.ObjectType, id ID) (got plumbing.ObjectType, raw []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err = o.with(ctx, o.stores, kind, id, func(obj plumbing.EncodedObject) error {
		if got = obj.Type(); got == plumbing.BlobObject {
			return nil // asked for to see what it is
		}
		raw, err = content(obj, id, maxTree)
		return err
	})
	return got, raw, err
}

// with looks for an object, and once more with the packs as they are now: git
// may have packed or repacked since they were read.
func (o *gitObjects) with(ctx context.Context, stores []*filesystem.Storage, kind plumbing.ObjectType, id ID, f func(plumbing.EncodedObject) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !fullID.MatchString(string(id)) {
		return fmt.Errorf("%w: it is no object ID", ErrNotFound)
	}
	err := findIn(stores, kind, id, f)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		for _, s := range stores {
			s.Reindex()
		}
		err = findIn(stores, kind, id, f)
	}
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound) && o.partial:
		return fmt.Errorf("%w in the object store: the repository is a partial clone, fetch what it lacks first", ErrNotFound)
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return fmt.Errorf("%w in the object store", ErrNotFound)
	}
	return err
}

func findIn(stores []*filesystem.Storage, kind plumbing.ObjectType, id ID, f func(plumbing.EncodedObject) error) error {
	missing := plumbing.ErrObjectNotFound
	for _, s := range stores {
		obj, err := s.EncodedObject(kind, plumbing.NewHash(string(id)))
		if err == nil && obj.Size() < 0 { // a loose object says what it likes
			err = fmt.Errorf("%w: its size is %d", ErrCorrupt, obj.Size())
		}
		if err == nil {
			err = f(obj)
		}
		switch {
		case err == nil, errors.Is(err, ErrTooLarge):
			return err
		case errors.Is(err, plumbing.ErrObjectNotFound):
		case errors.Is(missing, plumbing.ErrObjectNotFound):
			missing = corrupt(err) // yet another store may have it whole
		}
	}
	return missing
}

func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// content reads a whole object and holds it against its ID.
func content(obj plumbing.EncodedObject, id ID, limit int64) ([]byte, error) {
	if obj.Size() > limit {
		return nil, fmt.Errorf("it has %d bytes, at most %d are read: %w", obj.Size(), limit, ErrTooLarge)
	}
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw := make([]byte, obj.Size())
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, err
	}
	if got := hashObject(obj.Type().String(), raw, false); got != id {
		return nil, fmt.Errorf("%w: its content is that of %s", ErrCorrupt, got)
	}
	return raw, nil
}
