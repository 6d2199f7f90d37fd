package cachefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
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
	if len(f.put) == 0 {
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
	entries := f.entries()
	size := leastAll
	for _, e := range entries {
		size += e.size()
	}
	buf := make([]byte, 0, size)
	buf = binary.BigEndian.AppendUint32(append(buf, magic...), uint32(len(entries)))
	end := 0
	for _, e := range entries {
		end += len(e.value)
		buf = binary.BigEndian.AppendUint32(append(buf, e.key...), uint32(end))
		buf = append(buf, e.age)
	}
	for _, e := range entries {
		buf = append(buf, e.value...)
	}
	sum := sha256.Sum256(buf)
	return append(buf, sum[:]...)
}

// entries returns what the file is to hold, sorted by key.
func (f *File) entries() []entry {
	put := make([]entry, 0, len(f.put))
	for key, value := range f.put {
		put = append(put, entry{key: key[:], value: value})
	}
	slices.SortFunc(put, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	all := make([]entry, 0, len(put)+f.content.rows())
	for i := range f.content.rows() {
		old := entry{key: f.content.key(i), value: f.content.value(i)}
		if !f.used[i] {
			old.age = f.content.age(i) + 1
		}
		for len(put) > 0 && bytes.Compare(put[0].key, old.key) < 0 {
			all, put = append(all, put[0]), put[1:]
		}
		if old.age < oldest && (len(put) == 0 || !bytes.Equal(put[0].key, old.key)) {
			all = append(all, old)
		}
	}
	return within(append(all, put...), f.config.MaxBytes-leastAll)
}

// within drops those that were not used for the longest time until the others have
// no more bytes than that.
func within(all []entry, most int) []entry {
	var sizes [256]int // by age
	for _, e := range all {
		sizes[e.age] += e.size()
	}
	young := 0 // those that are younger are kept
	for young < len(sizes) && sizes[young] <= most {
		most -= sizes[young]
		young++
	}
	return slices.DeleteFunc(all, func(e entry) bool {
		if int(e.age) == young && e.size() <= most {
			most -= e.size()
			return false
		}
		return int(e.age) >= young
	})
}

// write replaces the file, unless somebody else is about to.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
