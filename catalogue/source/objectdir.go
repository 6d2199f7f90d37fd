package source

import (
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/storage/filesystem"
)

// OpenObjects opens an object folder by itself, and with it those that it
// borrows from by its file info/alternates, see gitrepository-layout(5). The
// folder must be named objects, hold objects with SHA-1 IDs, and need not exist
// yet. Errors: ErrUnsupported for an alternate of another name; any other means
// that the alternates could not be read.
func OpenObjects(dir string) (Objects, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if filepath.Base(dir) != "objects" {
		return nil, fmt.Errorf("%w: %s is a folder not named objects", ErrUnsupported, dir)
	}
	borrowed, err := alternates(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	open := func() (stores []*filesystem.Storage) {
		for _, objects := range append([]string{dir}, borrowed...) {
			at := filepath.Dir(objects)
			stores = append(stores, newStore(at, at))
		}
		return stores
	}
	return &gitObjects{open: open, stores: open()}, nil
}
