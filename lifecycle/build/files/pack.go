package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
)

// modes are those that Git has.
var modes = layer.Modes{Dir: 0o755, File: 0o644, Executable: 0o755}

// layer packs what goes in into a file.
func (b *build) layer(ctx context.Context, what *content, file string) (l *layer.Layer, err error) {
	objects := b.request.State.Inputs.Objects
	if what.file.ID != "" {
		err := open(ctx, objects, what.file, func(r io.Reader, _ int64) (err error) {
			l, err = layer.Blob(file, b.form.mediaType, r)
			return err
		})
		if err != nil {
			err = fmt.Errorf("%s: %w", what.title, err)
		}
		return l, err
	}
	pack := layer.Plain
	if b.form.gzip {
		pack = layer.Gzipped
	}
	return pack(file, b.form.mediaType, modes, func(to *layer.Archive) error {
		root := path.Clean("/" + b.recipe.Root)[1:]
		if err := to.Dir(root); err != nil {
			return err
		}
		// Git sorts the entries of a folder as an archive has their names.
		return what.folder.Walk(ctx, func(name string, e source.Entry) error {
			if err := add(ctx, to, objects, path.Join(root, name), e); err != nil {
				return fmt.Errorf("%s: %w", path.Join(what.from, name), err)
			}
			return nil
		})
	})
}

func add(ctx context.Context, to *layer.Archive, objects source.Objects, name string, e source.Entry) error {
	if e.Mode == source.ModeDir {
		return to.Dir(name)
	}
	return open(ctx, objects, e, func(r io.Reader, size int64) error {
		if e.Mode == source.ModeSymlink {
			target, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			return to.Symlink(name, string(target))
		}
		return to.File(name, e.Mode == source.ModeExecutable, size, r)
	})
}

// open calls f with the content of a file that is no Git LFS pointer.
func open(ctx context.Context, objects source.Objects, e source.Entry, f func(io.Reader, int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	blob, size, err := objects.Blob(ctx, e.ID)
	if err != nil {
		return err
	}
	content, err := source.RefuseLFS(blob, size)
	if err == nil {
		err = f(content, size)
	}
	return errors.Join(err, blob.Close())
}
