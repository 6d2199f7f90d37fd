package source

import (
	"context"
	"errors"
	"io"
)

// Overlay reads each object from over, and from under where over does not have
// it: made trees over a repository's. It is safe for concurrent use if both are.
func Overlay(over, under Objects) Objects { return overlay{over, under} }

type overlay struct{ over, under Objects }

func (o overlay) Tree(ctx context.Context, id ID) ([]Entry, error) {
	if m, ok := o.over.(*MemoryObjects); ok { // it need not word an error that nobody sees
		if entries, ok := m.tree(id); ok {
			return entries, nil
		}
		return o.under.Tree(ctx, id)
	}
	entries, err := o.over.Tree(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return o.under.Tree(ctx, id)
	}
	return entries, err
}

func (o overlay) Blob(ctx context.Context, id ID) (io.ReadCloser, int64, error) {
	r, size, err := o.over.Blob(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return o.under.Blob(ctx, id)
	}
	return r, size, err
}

// BlobSize implements Sizer.
func (o overlay) BlobSize(ctx context.Context, id ID) (int64, error) {
	size, err := BlobSize(ctx, o.over, id)
	if errors.Is(err, ErrNotFound) {
		return BlobSize(ctx, o.under, id)
	}
	return size, err
}
