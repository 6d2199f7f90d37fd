package files

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/filesrecipe"
	"github.com/pharos-dev/pharos/lifecycle"
)

var _ lifecycle.Checker = (*Builder)(nil)

// Check implements [lifecycle.Checker]: it refuses all that Build refuses of the
// recipe and the inputs. It asks no registry, and reads every file's beginning.
func (b *Builder) Check(ctx context.Context, r lifecycle.BuildRequest) error {
	run, err := b.start(r)
	if err != nil {
		return err
	}
	if err := run.checkRecipe(); err != nil {
		return err
	}
	what, err := run.find(ctx)
	if err != nil {
		return run.orStopped(ctx, err)
	}
	if err := run.pointers(ctx, what); err != nil {
		return run.orStopped(ctx, run.failed(err))
	}
	return nil
}

// pointers refuses Git LFS pointers, which packing would find.
func (b *build) pointers(ctx context.Context, what *filesrecipe.Content) error {
	objects := b.request.State.Inputs.Objects
	begin := func(io.Reader, int64) error { return nil }
	if what.File.ID != "" {
		if err := open(ctx, objects, what.File, begin); err != nil {
			return fmt.Errorf("%s: %w", what.Title, err)
		}
		return nil
	}
	return what.Folder.Walk(ctx, func(name string, e source.Entry) error {
		if !e.Mode.IsFile() {
			return nil
		}
		if err := open(ctx, objects, e, begin); err != nil {
			return fmt.Errorf("%s: %w", path.Join(what.From, name), err)
		}
		return nil
	})
}
