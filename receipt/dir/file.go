package dir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/receipt"
)

// sweep removes what writers that were killed left behind. The caller holds
// the lock, so no temporary file is in use.
func sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// readFile reads a whole file, but no more than limit bytes: a store may lie
// where others can write.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%w: it is no regular file of at most %d bytes", receipt.ErrCorrupt, limit)
	}
	return os.ReadFile(path)
}
