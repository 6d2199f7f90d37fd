package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// store is an object folder and what is known of files whose objects may be
// there. When it has grown it is left, and removed later.
type store struct {
	private
	n int
}

const (
	storePrefix = "store-"
	// maxStore is how many bytes a store may have beyond what is in use.
	maxStore = 512 << 20
)

func (s *store) path() string    { return filepath.Join(s.dir, storePrefix+strconv.Itoa(s.n)) }
func (s *store) objects() string { return filepath.Join(s.path(), "objects") }
func (s *store) cache() string   { return filepath.Join(s.path(), "cache") }

// alternates is the file that says which objects a store borrows.
func (s *store) alternates() string { return filepath.Join(s.objects(), "info", "alternates") }

// store returns the one in use, and removes those that nobody reads any more.
func (p private) store(now time.Time) (*store, error) {
	names, err := sorted(p.dir, storePrefix)
	if err != nil {
		return nil, err
	}
	newest := &store{private: p}
	var all []*store
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 {
			continue
		}
		s := &store{private: p, n: n}
		all = append(all, s)
		if n > newest.n {
			newest = s
		}
	}
	if newest.n == 0 {
		return newest.next()
	}
	info, err := os.Stat(newest.alternates())
	if err != nil {
		return newest.next()
	}
	for _, s := range all {
		if s != newest && now.Sub(info.ModTime()) > kept {
			_ = os.RemoveAll(s.path()) // or a later call does
		}
	}
	return newest, nil
}

// next makes the store that follows.
func (s *store) next() (*store, error) {
	if err := s.make(); err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(s.dir, scratchPrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	next := &store{private: s.private, n: s.n + 1}
	if err := writeAlternates(filepath.Join(made, "objects"), filepath.Join(s.common, "objects")); err != nil {
		return nil, err
	}
	err = os.Rename(made, next.path())
	if _, statErr := os.Stat(next.alternates()); statErr == nil {
		err = nil // another call was faster
	}
	return next, err
}

// writeAlternates makes an object folder that borrows from others: by relative
// paths, so that the repository can be moved.
func writeAlternates(objects string, from ...string) error {
	var b strings.Builder
	for _, f := range from {
		borrowed, err := filepath.Rel(objects, f)
		if err != nil {
			return err
		}
		b.WriteString(filepath.ToSlash(borrowed) + "\n")
	}
	info := filepath.Join(objects, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(b.String()), 0o600)
}

// size adds up the files of the store.
func (s *store) size() (total int64, err error) {
	err = filepath.WalkDir(s.path(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		total += info.Size()
		return nil
	})
	return total, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
