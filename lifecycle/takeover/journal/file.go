package journal

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

// File is the journal of one checkout: one Document in a folder of its own, for this
// user alone, in the file journal.json (0600). It is written under another name,
// flushed and renamed, and the folder is flushed, before a Save returns: a process that
// is killed, or a machine that loses power, leaves the old document or the new one. It
// is safe for concurrent use, also by several processes of one machine. Network file
// systems are not safe: their locks may not hold.
type File struct {
	dir  string
	lock *lockedfile.Mutex
}

// OpenFile returns the journal in a folder, which it creates (0700) if need be. Nothing
// else may be kept there.
func OpenFile(dir string) (*File, error) {
	if dir == "" {
		return nil, fmt.Errorf("journal: %w: a File needs its folder", ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the journal: %w", err)
	}
	return &File{dir: dir, lock: lockedfile.MutexAt(filepath.Join(dir, "lock"))}, nil
}

// Path is that of the file.
func (f *File) Path() string { return filepath.Join(f.dir, "journal.json") }

// Load returns the document, and its version for Save and Remove. ErrNone if there is
// none, with the version of none; ErrDamaged, and ErrLater, for what cannot be read:
// see SetAside.
func (f *File) Load() (Document, string, error) {
	data, err := f.read()
	if err != nil {
		return Document{}, "", err
	}
	if data == nil {
		return Document{}, "", ErrNone
	}
	d, err := Decode(data)
	if err != nil {
		return Document{}, "", fmt.Errorf("read the journal %s: %w", f.Path(), err)
	}
	return d, hashOf(data), nil
}

// Save writes a document if the version is still the one that was loaded, "" for none,
// and returns the new version. ErrConflict if it is not: what is damaged is never
// written over. ErrInvalid for a document that breaks a rule.
func (f *File) Save(d Document, version string) (string, error) {
	data, err := Encode(d)
	if err != nil {
		return "", err
	}
	if len(data) > largest {
		return "", fmt.Errorf("write the journal: %w: it would have %d bytes, want at most %d. Take over fewer workloads", ErrInvalid, len(data), largest)
	}
	if err := f.change("write", version, func() error { return atomicfile.Write(f.Path(), data) }); err != nil {
		return "", err
	}
	return hashOf(data), nil
}

// Remove removes the document if the version is still the one that was loaded.
// ErrConflict if it is not.
func (f *File) Remove(version string) error {
	return f.change("remove", version, func() error {
		if err := os.Remove(f.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return atomicfile.SyncFolder(f.dir)
	})
}

// SetAside gives the file another name in the folder, which it returns, so that nothing
// of it is lost and another session can begin. ErrNone if there is none.
func (f *File) SetAside() (string, error) {
	unlock, err := f.lock.Lock()
	if err != nil {
		return "", fmt.Errorf("lock the journal: %w", err)
	}
	defer unlock()
	aside := filepath.Join(f.dir, "aside-"+rand.Text()[:8]+".json")
	err = os.Rename(f.Path(), aside)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNone
	}
	if err == nil {
		err = atomicfile.SyncFolder(f.dir)
	}
	if err != nil {
		return "", fmt.Errorf("set the journal aside: %w", err)
	}
	return aside, nil
}

// change holds the lock, for the time of a few flushes, and changes the file if it has
// the version.
func (f *File) change(op, version string, change func() error) error {
	unlock, err := f.lock.Lock()
	if err != nil {
		return fmt.Errorf("lock the journal: %w", err)
	}
	defer unlock()
	stored, err := f.read()
	if err != nil {
		return err
	}
	if hashOf(stored) != version {
		return fmt.Errorf("%s the journal %s: %w", op, f.Path(), ErrConflict)
	}
	if err := f.sweep(); err != nil {
		return fmt.Errorf("remove what a write of the journal left: %w", err)
	}
	if err := change(); err != nil {
		return fmt.Errorf("%s the journal: %w", op, err)
	}
	return nil
}

// largest is what the session object can hold, and more than a journal takes.
const largest = 1000 << 10

// read returns the file's content, nil if there is none.
func (f *File) read() ([]byte, error) {
	info, err := os.Lstat(f.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > 2*largest) {
		return nil, fmt.Errorf("read the journal %s: %w: it is no file of this kind", f.Path(), ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	data, err := os.ReadFile(f.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was removed just now
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

func hashOf(data []byte) string {
	if data == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
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
