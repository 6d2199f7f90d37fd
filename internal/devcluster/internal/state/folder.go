package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// ErrInUse is returned when another process holds the folder.
var ErrInUse = errors.New("another process uses this state folder")

// lockName is the name of the lock file in a folder. Sweep touches no folder without it.
const lockName = "lock"

// Folder is a state folder that this process holds.
type Folder struct {
	path string
	lock *fileutil.LockedFile
}

// Hold creates the folder where it is missing and takes its lock. It returns [ErrInUse] when another process has it.
func Hold(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("hold the state folder: %w", err)
	}
	// A sweep may remove the folder between the two steps of taking it: begin again then. It can happen once per
	// process that sweeps, so the number of attempts is no limit in practice.
	for range 100 {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("hold the state folder: %w", err)
		}
		lock, err := tryLock(path, os.O_CREATE|os.O_RDWR)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("hold the state folder %s: %w", path, err)
		}
		if sameFile(lock, filepath.Join(path, lockName)) {
			return &Folder{path: path, lock: lock}, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("hold the state folder %s: it is removed again and again", path)
}

// Held returns the folder that the process which started this one holds, and keeps on holding: this one must neither
// release nor remove it.
func Held(path string) *Folder { return &Folder{path: path} }

// tryLock returns [ErrInUse] when another process holds the lock.
func tryLock(folder string, flag int) (*fileutil.LockedFile, error) {
	lock, err := fileutil.TryLockFile(filepath.Join(folder, lockName), flag, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, ErrInUse
	}
	return lock, err
}

// sameFile reports whether the path still leads to the file that was locked.
func sameFile(lock *fileutil.LockedFile, path string) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(held, now)
}

// Path returns the path of an element of the folder, which may be nested; without elements, the folder itself.
func (f *Folder) Path(elements ...string) string {
	return filepath.Join(append([]string{f.path}, elements...)...)
}

// Release gives the folder up and leaves its content.
func (f *Folder) Release() error { return f.lock.Close() }

// Remove removes the folder with all that is in it and gives it up.
func (f *Folder) Remove() error {
	return remove(f.path, f.lock)
}

// remove removes a folder whose lock is held: the lock file last, so that a folder that is only half removed is still
// known as one that can be swept.
func remove(path string, lock *fileutil.LockedFile) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	var errs []error
	for _, e := range entries {
		if e.Name() != lockName {
			errs = append(errs, os.RemoveAll(filepath.Join(path, e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, lock.Close())
	}
	// Not every system removes a file that is open; where it works, no other process can take the lock in between.
	if err := os.RemoveAll(path); err == nil {
		return lock.Close()
	}
	return errors.Join(lock.Close(), os.RemoveAll(path))
}
