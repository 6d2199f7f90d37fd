package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Load reads the catalogue of a tree: it parses the tree's own pharos.yaml, as
// Parse does. A tree that has none is an error that matches ErrNoCatalogue;
// what keeps the file from being read is returned with its cause.
func Load(ctx context.Context, tree source.Tree) (*Catalogue, error) {
	file, err := rootFile(ctx, tree, FileName)
	if err == nil {
		if c := recallCatalogue(tree, file.ID); c != nil {
			return c, nil
		}
	}
	data, err := readRootFile(ctx, tree, FileName)
	switch {
	case errors.Is(err, errNoFile):
		return nil, fmt.Errorf("%w: the tree has no %s at its root: kubectl pharos init writes a first one, and a commit has to have it", ErrNoCatalogue, FileName)
	case errors.Is(err, errNotOrdinary):
		return nil, fmt.Errorf("%w: %w", ErrNoCatalogue, err)
	case err != nil:
		return nil, err
	}
	c, err := Parse(FileName, data)
	if err == nil {
		keepCatalogue(tree, file.ID, c)
	}
	return c, err
}

var (
	errNoFile      = errors.New("is not in the tree")
	errNotOrdinary = errors.New("is a folder, a symbolic link or a submodule, and must be an ordinary file")
)

// rootFile finds a file at the root of a tree. The error matches errNoFile or
// errNotOrdinary if there is no such file.
func rootFile(ctx context.Context, tree source.Tree, name string) (source.Entry, error) {
	// An object that is missing and a file that is not there are both
	// source.ErrNotFound to ReadFile, and only the latter means no file.
	root, err := tree.Objects.Tree(ctx, tree.ID)
	if err != nil {
		return source.Entry{}, fmt.Errorf("read the tree's root: %w", err)
	}
	i := slices.IndexFunc(root, func(e source.Entry) bool { return e.Name == name })
	if i < 0 {
		return source.Entry{}, fmt.Errorf("%s %w", name, errNoFile)
	}
	if !root[i].Mode.IsFile() {
		return source.Entry{}, fmt.Errorf("%s %w", name, errNotOrdinary)
	}
	return root[i], nil
}

// readRootFile reads a file at the root of a tree. The error is as for rootFile if
// there is no such file.
func readRootFile(ctx context.Context, tree source.Tree, name string) ([]byte, error) {
	if _, err := rootFile(ctx, tree, name); err != nil {
		return nil, err
	}
	data, err := tree.ReadFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %w", err)
	}
	return data, nil
}
