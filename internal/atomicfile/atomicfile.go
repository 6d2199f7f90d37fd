// Package atomicfile writes files that a crash leaves whole: the old content or
// the new one.
package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
)

// TempPrefix begins the names of temporary files. What a writer that was killed
// left can be removed by it, while no other writer is at work.
const TempPrefix = ".tmp-"

// Write makes path hold data, readable and writable by the user alone, or
// leaves it as it is. github.com/google/renameio would do the first half, but it
// does not flush the folder and does not build on Windows.
func Write(path string, data []byte) error {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, TempPrefix+"*")
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
	return SyncFolder(folder)
}

// SyncFolder flushes renames in a folder: until then a power failure can undo
// them.
func SyncFolder(folder string) error {
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
