package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create makes a new file at path that holds data, with the permissions that
// files of the user have by default. If there is something at path, it is left as
// it is and the error matches fs.ErrExist, also if it came only now. What an
// earlier call that was killed left beside it is removed; of two calls at once,
// one may fail therefore in other ways.
func Create(path string, data []byte) error {
	folder, prefix := filepath.Dir(path), tempPrefix(path)
	if err := sweep(folder, prefix); err != nil {
		return err
	}
	temp, err := newTemp(folder, prefix)
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = place(temp.Name(), path)
	}
	if rerr := os.Remove(temp.Name()); err == nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = rerr
	}
	if err != nil {
		return err
	}
	return SyncFolder(folder)
}

// newTemp makes a temporary file with the permissions that the umask leaves:
// those of os.CreateTemp are for the user alone.
func newTemp(folder, prefix string) (*os.File, error) {
	reserved, err := os.CreateTemp(folder, prefix+"*")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(reserved.Close(), os.Remove(reserved.Name())); err != nil {
		return nil, err
	}
	return os.OpenFile(reserved.Name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// place gives a file its final name, unless something has it. Only a link does
// so in one step; where the file system has none, it takes two.
func place(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return os.Rename(temp, path)
}
