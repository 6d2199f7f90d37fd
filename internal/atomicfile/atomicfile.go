// Package atomicfile writes files that a crash leaves whole: the old content or
// the new one.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// TempPrefix begins the names of temporary files. What a writer that was killed
// left can be removed by it, while no other writer is at work.
const TempPrefix = ".tmp-"

// Write makes path hold data, readable and writable by the user alone, or
// leaves it as it is. github.com/google/renameio would do the first half, but it
// does not flush the folder and does not build on Windows.
func Write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return err
	}
	return finish(f, path, data)
}

// Replace makes path hold data, or leaves it as it is, for a file of the user's
// among others of theirs: it keeps the permissions of the file that it replaces,
// and gives a new one those of any new file. What an earlier call that was killed
// left beside it is removed; of two calls at once, one may fail therefore.
func Replace(path string, data []byte) error {
	folder, prefix := filepath.Dir(path), tempPrefix(path)
	if err := sweep(folder, prefix); err != nil {
		return err
	}
	name := filepath.Join(folder, prefix+strconv.Itoa(os.Getpid()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		// The permissions of a file on a system that has none cannot be kept.
		_ = os.Chmod(name, info.Mode().Perm())
	}
	return finish(f, path, data)
}

// tempPrefix begins the names of the temporary files for one of the user's: those
// of a call that was killed lie among the user's own, so the next one for the same
// file must know them.
func tempPrefix(path string) string { return "." + filepath.Base(path) + TempPrefix }

// sweep removes the files of a folder whose names are the prefix and digits, as
// those are that this package makes: others are the user's.
func sweep(folder, prefix string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// finish fills the temporary file and gives it its final name.
func finish(f *os.File, path string, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		// Without this, a power failure after the rename could leave an empty
		// file under the final name.
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return SyncFolder(filepath.Dir(path))
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
