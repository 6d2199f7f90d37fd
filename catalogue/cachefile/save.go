package cachefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
)

const (
	// oldest is how often the file is written without a value that nobody uses.
	oldest = 250
	// staleTemp is after how long a temporary file was left by a process that was
	// killed.
	staleTemp = time.Hour
)

// Save writes the file if something was put since it was read or saved. The error
// says why it could not be written; then the values are still in memory. It is none
// that another process is about to write the same file.
func (f *File) Save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.put.at) == 0 {
		return nil
	}
	data := f.encode()
	if err := write(f.config.Path, data); err != nil {
		return fmt.Errorf("keep what was computed in %s: %w", f.config.Path, err)
	}
	f.hold(split(data))
	return nil
}

// entry is a value that may be kept.
type entry struct {
	key   []byte
	value []byte
	age   byte
}

func (e entry) size() int { return rowSize + len(e.value) }

// encode returns the file with what was put, and what is left of the rest.
func (f *File) encode() []byte {
	put := make([]catalogue.CacheKey, 0, len(f.put.at))
	for key := range f.put.at {
		put = append(put, key)
	}
	slices.SortFunc(put, func(a, b catalogue.CacheKey) int { return bytes.Compare(a[:], b[:]) })
	keep := f.bounds(put)
	size, rows := leastAll, 0
	for e := range keep.entries(f, put) {
		size, rows = size+e.size(), rows+1
	}
	buf := make([]byte, 0, size)
	buf = binary.BigEndian.AppendUint32(append(buf, magic...), uint32(rows))
	end := 0
	for e := range keep.entries(f, put) {
		end += len(e.value)
		buf = binary.BigEndian.AppendUint32(append(buf, e.key...), uint32(end))
		buf = append(buf, e.age)
	}
	for e := range keep.entries(f, put) {
		buf = append(buf, e.value...)
	}
	sum := sha256.Sum256(buf)
	return append(buf, sum[:]...)
}

// all are the values that were put, by their sorted keys, and those of the file
// that are not too old, sorted by key.
func (f *File) all(put []catalogue.CacheKey) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		next := 0
		first := func() entry {
			e := entry{key: put[next][:]}
			e.value, _ = f.put.get(put[next])
			next++
			return e
		}
		for i := range f.content.rows() {
			old := entry{key: f.content.key(i), value: f.content.value(i)}
			if !f.used[i] {
				old.age = f.content.age(i) + 1
			}
			for next < len(put) && bytes.Compare(put[next][:], old.key) < 0 {
				if !yield(first()) {
					return
				}
			}
			replaced := next < len(put) && bytes.Equal(put[next][:], old.key)
			if !replaced && old.age < oldest && !yield(old) {
				return
			}
		}
		for next < len(put) {
			if !yield(first()) {
				return
			}
		}
	}
}

// bounds say which values fit into the file: all that were used later, and of
// those of one age as many as there is room for.
type bounds struct {
	age  int
	room int // in bytes
}

func (f *File) bounds(put []catalogue.CacheKey) bounds {
	var sizes [256]int // by age
	for e := range f.all(put) {
		sizes[e.age] += e.size()
	}
	b := bounds{room: f.config.MaxBytes - leastAll}
	for b.age < len(sizes) && sizes[b.age] <= b.room {
		b.room -= sizes[b.age]
		b.age++
	}
	return b
}

// entries are those of f.all that fit.
func (b bounds) entries(f *File, put []catalogue.CacheKey) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		room := b.room
		for e := range f.all(put) {
			fits := int(e.age) < b.age
			if int(e.age) == b.age && e.size() <= room {
				room -= e.size()
				fits = true
			}
			if fits && !yield(e) {
				return
			}
		}
	}
}

// write replaces the file, unless somebody else is about to.
func write(path string, data []byte) error {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	temp := path + ".tmp"
	f, err := create(temp)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// create makes a file that is not there, or was left there long ago.
func create(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > staleTemp {
		_ = os.Remove(path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
