package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ownerName is the name of a file that whoever started the process may lock with flock(2): the process may end and be
// started again, and nobody is to take its folder for abandoned in between.
const ownerName = "owner"

// Sweep removes the folders in dir whose name begins with prefix and whose process and owner are gone, and returns their paths.
// What it cannot remove, it reports and passes over.
func Sweep(dir, prefix string) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sweep abandoned state folders: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		switch gone, err := sweep(path); {
		case err != nil:
			errs = append(errs, fmt.Errorf("sweep abandoned state folder %s: %w", path, err))
		case gone:
			removed = append(removed, path)
		}
	}
	return removed, errors.Join(errs...)
}

func sweep(path string) (gone bool, err error) {
	lock, err := tryLock(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Not yet held, or not ours. An empty one may go: a process that is about to take it makes it again.
		return os.Remove(path) == nil, nil
	case errors.Is(err, ErrInUse), errors.Is(err, fs.ErrPermission):
		// In use, or another user's.
		return false, nil
	case err != nil:
		return false, err
	}
	// Read with the lock held: an owner comes while the process is there.
	owner, err := lockOwner(path)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, lock.Close()
	case err != nil:
		return false, errors.Join(err, lock.Close())
	}
	return true, errors.Join(remove(path, lock), owner.Close())
}

// lockOwner takes the owner's place. Without an owner's file there is nothing to take.
func lockOwner(path string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(path, ownerName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
