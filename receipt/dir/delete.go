package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/receipt"
)

// Delete implements receipt.Store. The record goes first: outcomes without one are
// none of a receipt's, and go with the next call.
func (s *Store) Delete(ctx context.Context, id receipt.ID) error {
	if _, err := receipt.ParseID(string(id)); err != nil {
		return nil // no receipt can have it
	}
	return s.write(ctx, func() error {
		p, err := s.readPointers()
		if err != nil {
			return fmt.Errorf("delete receipt %s: %w: %w", id.Short(), receipt.ErrInUse, err)
		}
		if id == p.Applied || id == p.Live {
			return fmt.Errorf("delete receipt %s: %w: the pointers name it", id.Short(), receipt.ErrInUse)
		}
		entries, err := s.entries()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(entries, is(id)); i >= 0 {
			if err := remove("delete record", s.path(entries[i])); err != nil {
				return err
			}
			entries = slices.Delete(entries, i, i+1)
		}
		return s.deleteLeft(entries)
	})
}

// deleteLeft removes outcomes that have no record.
func (s *Store) deleteLeft(entries []entry) error {
	files, err := os.ReadDir(s.outcomes())
	if err != nil {
		return &FileError{Op: "list outcomes", Path: s.outcomes(), Err: err}
	}
	for _, f := range files {
		hex, is := strings.CutSuffix(f.Name(), ".jsonl")
		id, err := receipt.ParseID("sha256:" + hex)
		if !is || err != nil || slices.ContainsFunc(entries, func(e entry) bool { return e.id == id }) {
			continue
		}
		if err := remove("delete outcomes", filepath.Join(s.outcomes(), f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file for good: also if the machine loses power.
func remove(op, path string) error {
	err := os.Remove(path)
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &FileError{Op: op, Path: path, Err: err}
	}
	return nil
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
