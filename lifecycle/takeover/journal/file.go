package journal

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/pharos-dev/pharos/internal/keptfile"
)

// File is the journal of one checkout: one Document in a folder of its own, for this
// user alone, in the file journal.json (0600). It is flushed before a Save returns: a
// process that is killed, or a machine that loses power, leaves the old document or the
// new one. It is safe for concurrent use, also by several processes of one machine.
// Network file systems are not safe: their locks may not hold.
type File struct{ file *keptfile.File }

// largest is what the session object can hold, and more than a journal takes.
const largest = 1000 << 10

// OpenFile returns the journal in a folder, which it creates (0700) if need be. Nothing
// else may be kept there.
func OpenFile(dir string) (*File, error) {
	if dir == "" {
		return nil, fmt.Errorf("journal: %w: a File needs its folder", ErrInvalid)
	}
	f, err := keptfile.Open(dir, "journal.json", 2*largest)
	if err != nil {
		return nil, fmt.Errorf("create the folder of the journal: %w", err)
	}
	return &File{f}, nil
}

// Path is that of the file.
func (f *File) Path() string { return f.file.Path() }

// Load returns the document, and its version for Save and Remove. ErrNone if there is
// none, with the version of none; ErrDamaged, and ErrLater, for what cannot be read:
// see SetAside.
func (f *File) Load() (Document, string, error) {
	data, version, err := f.file.Read()
	if err != nil {
		return Document{}, "", fail("read", err)
	}
	if data == nil {
		return Document{}, "", ErrNone
	}
	d, err := Decode(data)
	if err != nil {
		return Document{}, "", fmt.Errorf("read the journal %s: %w", f.Path(), err)
	}
	return d, version, nil
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
	next, err := f.file.Write(data, version)
	if err != nil {
		return "", fail("write", err)
	}
	return next, nil
}

// Remove removes the document if the version is still the one that was loaded.
// ErrConflict if it is not.
func (f *File) Remove(version string) error { return fail("remove", f.file.Remove(version)) }

// SetAside gives the file another name in the folder, which it returns, so that nothing
// of it is lost and another session can begin. ErrNone if there is none.
func (f *File) SetAside() (string, error) {
	aside, err := f.file.SetAside()
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNone
	}
	return aside, fail("set aside", err)
}

// fail wraps an error of the file.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keptfile.ErrConflict):
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	case errors.Is(err, keptfile.ErrKind):
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("%s the journal: %w", op, err)
}
