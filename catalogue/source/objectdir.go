package source

import (
	"fmt"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// OpenObjects opens an object folder by itself, and with it those that it
// borrows from by its file info/alternates, see gitrepository-layout(5). The
// folder must be named objects, and need not exist yet. Its object IDs are of the
// format that the configuration beside it says, else the one beside the first
// folder that it borrows from; SHA-1 if there is none. Errors: ErrUnsupported for
// an alternate of another name; any other means that the alternates or the
// configuration could not be read.
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
	dirs := append([]string{dir}, borrowed...)
	format := odb.SHA1
	for _, at := range dirs {
		settings, err := readConfig(filepath.Join(filepath.Dir(at), "config"))
		if err != nil {
			return nil, err
		}
		if settings == nil {
			continue
		}
		if format, _, err = supported(settings); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		break
	}
	return &gitObjects{db: odb.New(dirs, format)}, nil
}

// CommonDir returns the absolute path of the Git folder that linked worktrees
// share, the one with the objects; GitDir's in any other checkout.
func (r *Repository) CommonDir() (string, error) { return commonDir(r.gitDir) }
