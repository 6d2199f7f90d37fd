package odb

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// maxFiles is how many files of packs a database keeps open.
const maxFiles = 64

// files keeps the files open that were opened last. It is safe for concurrent
// use.
type files struct {
	mu   sync.Mutex
	open []*file
}

// file is a file of a pack. It is opened when it is read, and may be closed
// between two reads. It is safe for concurrent use.
type file struct {
	files *files
	path  string
	kept  atomic.Pointer[kept] // of a small file that is read often, else nil

	mu   sync.RWMutex
	f    *os.File    // nil while it is closed
	info fs.FileInfo // when it was opened first
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	return err
}

// ReadAt is that of io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	k := f.kept.Load()
	if k == nil {
		return f.readAt(p, off)
	}
	for n < len(p) && err == nil {
		var more int
		more, err = k.readAt(f.readAt, p[n:], off+int64(n))
		n += more
	}
	return n, err
}

func (f *file) readAt(p []byte, off int64) (int, error) {
	f.mu.RLock()
	for f.f == nil {
		f.mu.RUnlock()
		if err := f.reopen(); err != nil {
			return 0, err
		}
		f.mu.RLock()
	}
	defer f.mu.RUnlock()
	return f.f.ReadAt(p, off)
}

// size opens the file if it never was.
func (f *file) size() (int64, error) {
	f.mu.RLock()
	info := f.info
	f.mu.RUnlock()
	if info == nil {
		if err := f.reopen(); err != nil {
			return 0, err
		}
		f.mu.RLock()
		info = f.info
		f.mu.RUnlock()
	}
	return info.Size(), nil
}

func (f *file) reopen() error {
	f.mu.Lock()
	if f.f != nil {
		f.mu.Unlock()
		return nil
	}
	var err error
	f.f, err = f.own()
	f.mu.Unlock()
	if err == nil {
		f.files.add(f)
	}
	return err
}

// own opens the file for the caller, who must hold its lock and close what is
// returned.
func (f *file) own() (*os.File, error) {
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, gone(err)
	}
	info, err := opened.Stat()
	if err == nil && f.info != nil && !sameFile(info, f.info) {
		err = errGone
	}
	if err != nil {
		opened.Close()
		return nil, err
	}
	f.info = info
	return opened, nil
}

// changed says whether the path is another file than it was when it was opened.
func (f *file) changed() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.info == nil {
		return false
	}
	info, err := os.Stat(f.path)
	return err != nil || !sameFile(info, f.info)
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// add takes in a file that was opened, and closes the one opened first if there
// are too many. No lock of a file is held while that of all is taken.
func (fs *files) add(f *file) {
	var first *file
	fs.mu.Lock()
	if !slices.Contains(fs.open, f) {
		fs.open = append(fs.open, f)
	}
	if len(fs.open) > maxFiles {
		first = fs.open[0]
		fs.open = slices.Delete(fs.open, 0, 1)
	}
	fs.mu.Unlock()
	if first != nil {
		first.close()
	}
}

// remove closes a file for good.
func (fs *files) remove(f *file) {
	fs.mu.Lock()
	fs.open = slices.DeleteFunc(fs.open, func(o *file) bool { return o == f })
	fs.mu.Unlock()
	f.close()
}

func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f != nil {
		f.f.Close()
		f.f = nil
	}
}
