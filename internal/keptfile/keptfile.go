package keptfile

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/pharos-dev/pharos/internal/atomicfile"
)

var (
	// ErrConflict is returned by a change when somebody else has written meanwhile.
	// Nothing was done.
	ErrConflict = errors.New("somebody else has written meanwhile")
	// ErrKind is returned for what is no regular file, or larger than any that is
	// written. It is left as it is.
	ErrKind = errors.New("it is no file of this kind")
)

// File is one file. It is safe for concurrent use, also by several processes of one
// machine.
type File struct {
	path    string
	largest int64
	lock    *lockedfile.Mutex
}

// Open returns the file of that name in a folder, which it creates (0700) if need be.
// Nothing else may be kept there. largest is how many bytes it may have.
func Open(dir, name string, largest int64) (*File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &File{path: filepath.Join(dir, name), largest: largest, lock: lockedfile.MutexAt(filepath.Join(dir, "lock"))}, nil
}

// Path is that of the file.
func (f *File) Path() string { return f.path }

// Read returns the content and its version for a change; nil and "" if there is no file.
// It waits for nobody.
func (f *File) Read() (data []byte, version string, err error) {
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > f.largest) {
		return nil, "", fmt.Errorf("%s: %w", f.path, ErrKind)
	}
	if err != nil {
		return nil, "", err
	}
	data, err = os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil // it was removed just now
	}
	if err != nil {
		return nil, "", err
	}
	if data == nil {
		data = []byte{}
	}
	return data, versionOf(data), nil
}

// Write replaces the content if it is still of that version, "" for no file, and returns
// the new version.
func (f *File) Write(data []byte, version string) (string, error) {
	if int64(len(data)) > f.largest {
		return "", fmt.Errorf("%s: it would have %d bytes, want at most %d", f.path, len(data), f.largest)
	}
	return versionOf(data), f.change(version, func() error { return atomicfile.Write(f.path, data) })
}

// Remove removes the file if it is still of that version.
func (f *File) Remove(version string) error {
	return f.change(version, func() error {
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return atomicfile.SyncFolder(filepath.Dir(f.path))
	})
}

// SetAside gives the file another name in the folder, whatever it is, and returns that:
// so nothing of it is lost, and another one can be written. fs.ErrNotExist if there is
// none.
func (f *File) SetAside() (string, error) {
	unlock, err := f.lock.Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	dir, name := filepath.Split(f.path)
	aside := filepath.Join(dir, "aside-"+rand.Text()[:8]+filepath.Ext(name))
	if err := os.Rename(f.path, aside); err != nil {
		return "", err
	}
	return aside, atomicfile.SyncFolder(dir)
}

// change holds the lock, for the time of a few flushes, and changes the file if it has
// the version.
func (f *File) change(version string, change func() error) error {
	unlock, err := f.lock.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	_, stored, err := f.Read()
	if err != nil {
		return err
	}
	if stored != version {
		return fmt.Errorf("%s: %w", f.path, ErrConflict)
	}
	if err := f.sweep(); err != nil {
		return fmt.Errorf("remove what a writer that was killed left: %w", err)
	}
	return change()
}

// sweep removes what writers that were killed left. The caller holds the lock, so that no
// other one is at work.
func (f *File) sweep() error {
	dir := filepath.Dir(f.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func versionOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
