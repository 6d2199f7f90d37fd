package catalogue

import (
	"context"
	"errors"
	"path"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/strictyaml"
)

// noDockerfile is the error of an image whose Dockerfile is not in the tree. It
// names the file of the same folder, or above it, that is most likely meant.
func noDockerfile(ctx context.Context, tree source.Tree, file string) (*InputError, error) {
	missing := &InputError{Path: file, Reason: "is not in the tree"}
	dir := path.Dir(file)
	entries, err := tree.ReadDir(ctx, dir)
	if err != nil && !errors.Is(err, source.ErrNotFound) {
		return nil, err
	}
	var files, folders []string
	for _, e := range entries {
		if e.Mode.IsFile() {
			files = append(files, path.Join(dir, e.Name))
		}
	}
	near := strictyaml.Nearest(file, files)
	if near == "" && dir != "." {
		// The folder may be what is misspelled.
		above := path.Dir(dir)
		entries, err := tree.ReadDir(ctx, above)
		if err != nil && !errors.Is(err, source.ErrNotFound) {
			return nil, err
		}
		for _, e := range entries {
			if e.Mode == source.ModeDir {
				folders = append(folders, path.Join(above, e.Name))
			}
		}
		if folder := strictyaml.Nearest(dir, folders); folder != "" {
			name := path.Join(folder, path.Base(file))
			entry, err := find(ctx, tree, name)
			if err != nil {
				return nil, err
			}
			if entry.Mode.IsFile() {
				near = name
			}
		}
	}
	if near != "" {
		missing.Reason += "; did you mean " + near + "? Correct build.dockerfile.path"
	} else {
		missing.Reason += ": correct build.dockerfile.path"
	}
	return missing, nil
}
