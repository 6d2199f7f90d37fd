package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// checkRecipe says whether the inputs hold what the recipe starts from, all
// that is missing at once, and which Go toolchain it declares if it builds a Go
// package.
func (i *Image) checkRecipe(ctx context.Context, whole, inputs source.Tree, known *modules) (toolchain string, err error) {
	switch b := i.Build; {
	case b.Go != nil:
		var errs []error
		t, err := known.toolchain(ctx, *b.Go, inputs)
		errs = append(errs, err)
		for _, asset := range b.Go.Assets {
			errs = append(errs, need(ctx, whole, inputs, asset, "build.go.assets", "is an asset of the image"))
		}
		return t.Name, errors.Join(errs...)
	case b.Dockerfile != nil:
		return "", nil // read with what it is built on
	case b.Files != nil:
		return "", need(ctx, whole, inputs, b.Files.From, "build.files.from", "is what the image is made of")
	default:
		return "", fmt.Errorf("its kind of build is %w", ErrUnsupported)
	}
}

// need returns an *InputError if the inputs have no such file or folder as the
// field names.
func need(ctx context.Context, whole, inputs source.Tree, name, field, use string) error {
	name = cleanPath(name)
	if name == "." {
		return nil
	}
	if _, err := inputs.Lookup(ctx, name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := whole.Lookup(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &InputError{Path: name, Reason: "is not in the tree: correct " + field}
	case err != nil:
		return err
	}
	return &InputError{Path: name, Reason: use + ", and is not among its inputs: add it to them"}
}
