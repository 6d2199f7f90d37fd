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

// gitObjects reads a repository's object store. go-git's is not safe for
// concurrent use, so one object is read at a time.
type gitObjects struct {
	mu    sync.Mutex
	store *filesystem.Storage
	trees sync.Map // ID → []Entry: trees are read again and again, and are small
}

// Tree returns the entries of a tree object.
func (o *gitObjects) Tree(ctx context.Context, id ID) ([]Entry, error) {
	if entries, ok := o.trees.Load(id); ok {
		return entries.([]Entry), nil
	}
	raw, err := o.read(ctx, plumbing.TreeObject, id)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	entries, err := ParseTree(raw, len(id)/2)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	o.trees.Store(id, entries)
	return entries, nil
}

// Blob opens a blob object.
func (o *gitObjects) Blob(ctx context.Context, id ID) (io.ReadCloser, int64, error) {
	raw, err := o.read(ctx, plumbing.BlobObject, id)
	if err != nil {
		return nil, 0, fmt.Errorf("blob %s: %w", id, err)
	}
	return io.NopCloser(bytes.NewReader(raw)), int64(len(raw)), nil
}

func (o *gitObjects) read(ctx context.Context, kind plumbing.ObjectType, id ID) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hash := plumbing.NewHash(string(id))
	if !plumbing.IsHash(string(id)) {
		return nil, fmt.Errorf("%w: it is no object ID", ErrNotFound)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	obj, err := o.store.EncodedObject(kind, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("it is %w in the object store", ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(r)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	return raw, err
}
