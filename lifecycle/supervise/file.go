package supervise

import (
	"context"
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

// File keeps a State in a folder of its own, for this user alone: in the file
// state.json, in the format of Encode, or in none for the zero State. It is written
// under another name, flushed and renamed, so that a process that is killed, or a
// machine that loses power, leaves the old state or the new one. It is safe for
// concurrent use, also by several processes of one machine. Network file systems are
// not safe: their locks may not hold.
type File struct {
	dir  string
	lock *lockedfile.Mutex
}

var _ Store = (*File)(nil)

// NewFile returns the store in a folder, which it creates (0700) if need be. Nothing
// else may be kept there.
func NewFile(dir string) (*File, error) {
	if dir == "" {
		return nil, fmt.Errorf("supervise: %w: a File needs its folder", ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of a restart budget: %w", err)
	}
	return &File{dir: dir, lock: lockedfile.MutexAt(filepath.Join(dir, "lock"))}, nil
}

func (f *File) path() string { return filepath.Join(f.dir, "state.json") }

// Load implements Store.
func (f *File) Load(ctx context.Context) (State, string, error) {
	if err := ctx.Err(); err != nil {
		return State{}, "", err
	}
	data, err := f.read()
	if err != nil || data == nil {
		return State{}, "", err
	}
	s, err := Decode(data)
	if err != nil {
		return State{}, "", fmt.Errorf("read the restart budget %s: %w. Nothing is restarted until it can be read: keep a copy, and remove it", f.path(), err)
	}
	return s, versionOf(data), nil
}

// Save implements Store. It holds the lock for the time of a few flushes, so waiting
// for it does not look at ctx.
func (f *File) Save(ctx context.Context, s State, version string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := Encode(s)
	if err != nil {
		return err
	}
	unlock, err := f.lock.Lock()
	if err != nil {
		return fmt.Errorf("lock the restart budget: %w", err)
	}
	defer unlock()
	stored, err := f.read()
	if err != nil {
		return err
	}
	if versionOf(stored) != version {
		return fmt.Errorf("write the restart budget %s: %w", f.path(), ErrConflict)
	}
	if err := f.sweep(); err != nil {
		return fmt.Errorf("remove what a write of the restart budget left: %w", err)
	}
	if s == (State{}) {
		err = f.remove()
	} else {
		err = atomicfile.Write(f.path(), data)
	}
	if err != nil {
		return fmt.Errorf("write the restart budget %s: %w", f.path(), err)
	}
	return nil
}

// largest is more than any state takes.
const largest = 64 << 10

// read returns the file's content, nil if there is none.
func (f *File) read() ([]byte, error) {
	info, err := os.Lstat(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > largest) {
		return nil, fmt.Errorf("read the restart budget %s: %w: it is no file of this kind. Move it away", f.path(), ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read the restart budget: %w", err)
	}
	data, err := os.ReadFile(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was removed just now
	}
	if err != nil {
		return nil, fmt.Errorf("read the restart budget: %w", err)
	}
	return data, nil
}

func versionOf(data []byte) string {
	if data == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

func (f *File) remove() error {
	if err := os.Remove(f.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncFolder(f.dir)
}

// sweep removes what writers that were killed left. The caller holds the lock, so
// that no other one is at work.
func (f *File) sweep() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			if err := os.Remove(filepath.Join(f.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
