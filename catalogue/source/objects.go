package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// ErrCorrupt is returned for an object whose content is not what its ID says,
// or that cannot be unpacked.
var ErrCorrupt = odb.ErrCorrupt

// maxTree bounds the objects that are parsed, in bytes: a tree of this size
// holds more than a million entries.
const maxTree = 64 << 20

// gitObjects reads a repository's object stores: its own and its alternates.
type gitObjects struct {
	db      *odb.DB
	partial bool // a partial clone
	trees   treeCache
	scratch sync.Pool // of *[]byte, for objects that are parsed at once
}

var _ Objects = (*gitObjects)(nil)

// Tree returns the entries of a tree object.
func (o *gitObjects) Tree(ctx context.Context, id ID) ([]Entry, error) {
	if entries, ok := o.trees.get(id); ok {
		return entries, ctx.Err()
	}
	var entries []Entry
	kind, err := o.parse(ctx, id, odb.KindsOf(odb.Tree), func(raw []byte) (err error) {
		entries, err = ParseTree(raw, o.db.Format().Size())
		return err
	})
	if err == nil && kind != odb.Tree {
		err = fmt.Errorf("%w: it is a %s", ErrNotFound, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	o.trees.put(id, entries)
	return entries, nil
}

// maxScratch is how much memory is kept for the next object, in bytes.
const maxScratch = 64 << 10

// parse calls f with the content of an object if it is of the kinds given. What
// f is given is overwritten later.
func (o *gitObjects) parse(ctx context.Context, id ID, kinds odb.Kinds, f func(raw []byte) error) (odb.Kind, error) {
	scratch, _ := o.scratch.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	obj, err := o.read(ctx, id, kinds, maxTree, *scratch)
	if err == nil && kinds.Has(obj.Kind) && obj.Size > maxTree {
		err = fmt.Errorf("it has %d bytes, at most %d are read: %w", obj.Size, maxTree, ErrTooLarge)
	}
	if err == nil && kinds.Has(obj.Kind) {
		err = f(obj.Data)
		if cap(obj.Data) > cap(*scratch) && cap(obj.Data) <= maxScratch {
			*scratch = obj.Data[:0]
		}
	}
	o.scratch.Put(scratch)
	return obj.Kind, err
}

// read reads an object. One of another kind than those given, or larger than the
// limit, has no content.
func (o *gitObjects) read(ctx context.Context, id ID, kinds odb.Kinds, limit int64, scratch []byte) (odb.Object, error) {
	bin, ok := o.db.Format().ParseID(string(id))
	if !ok {
		return odb.Object{}, fmt.Errorf("%w: it is no object ID of the repository", ErrNotFound)
	}
	obj, err := o.db.Read(ctx, bin, kinds, limit, scratch)
	if err != nil {
		return obj, o.explain(err)
	}
	return obj, nil
}

func (o *gitObjects) explain(err error) error {
	switch {
	case errors.Is(err, odb.ErrNotFound) && o.partial:
		return fmt.Errorf("%w in the object store: the repository is a partial clone, fetch what it lacks first", ErrNotFound)
	case errors.Is(err, odb.ErrNotFound):
		return fmt.Errorf("%w in the object store", ErrNotFound)
	}
	return err
}

// Blob opens a blob object. One larger than MaxFile is streamed.
func (o *gitObjects) Blob(ctx context.Context, id ID) (io.ReadCloser, int64, error) {
	obj, err := o.read(ctx, id, odb.KindsOf(odb.Blob), MaxFile, nil)
	if err == nil && obj.Kind != odb.Blob {
		err = fmt.Errorf("%w: it is a %s", ErrNotFound, obj.Kind)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("blob %s: %w", id, err)
	}
	if obj.Size > MaxFile {
		return &largeBlob{ctx: ctx, objects: o, id: id, size: obj.Size}, obj.Size, nil
	}
	return io.NopCloser(bytes.NewReader(obj.Data)), obj.Size, nil
}
