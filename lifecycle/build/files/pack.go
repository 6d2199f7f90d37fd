package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/filesrecipe"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
)

// modes are those that Git has.
var modes = layer.Modes{Dir: 0o755, File: 0o644, Executable: 0o755}

// layer packs what goes in into a file.
func (b *build) layer(ctx context.Context, what *filesrecipe.Content, file string) (l *layer.Layer, err error) {
	objects := b.request.State.Inputs.Objects
	if what.File.ID != "" {
		err := open(ctx, objects, what.File, func(r io.Reader, _ int64) (err error) {
			l, err = layer.Blob(file, types.MediaType(b.form.MediaType), r)
			return err
		})
		if err != nil {
			err = fmt.Errorf("%s: %w", what.Title, err)
		}
		return l, err
	}
	pack := layer.Plain
	if b.form.Gzip {
		pack = layer.Gzipped
	}
	return pack(file, types.MediaType(b.form.MediaType), modes, func(to *layer.Archive) error {
		root := path.Clean("/" + b.recipe.Root)[1:]
		if err := to.Dir(root); err != nil {
			return err
		}
		// Git sorts the entries of a folder as an archive has their names.
		return what.Folder.Walk(ctx, func(name string, e source.Entry) error {
			if err := add(ctx, to, objects, path.Join(root, name), e); err != nil {
				return fmt.Errorf("%s: %w", path.Join(what.From, name), err)
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
