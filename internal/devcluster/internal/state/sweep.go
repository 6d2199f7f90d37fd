package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sweep removes the folders in dir whose name begins with prefix and whose process is gone, and returns their paths.
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
	return true, remove(path, lock)
}
