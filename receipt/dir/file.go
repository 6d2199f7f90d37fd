package dir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pharos-dev/pharos/receipt"
)

const tmpPrefix = ".tmp-"

// writeFile makes path hold data, or leaves it as it is. github.com/google/renameio
// would do the first half, but it does not flush the folder and does not build
// on Windows.
func writeFile(path string, data []byte) error {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, tmpPrefix+"*")
	if err != nil {
		return err
	}
	name := f.Name()
	_, err = f.Write(data)
	if err == nil {
		// Without this, a power failure after the rename could leave an empty
		// file under the final name.
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = os.Remove(name)
		return err
	}
	return syncFolder(folder)
}

// syncFolder flushes a rename: until then a power failure can undo it.
func syncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be flushed there; NTFS journals renames
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// sweep removes what writers that were killed left behind. The caller holds
// the lock, so no temporary file is in use.
func sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpPrefix) {
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
