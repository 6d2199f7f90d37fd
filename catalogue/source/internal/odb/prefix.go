package odb

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// maxFound bounds the IDs that begin alike.
const maxFound = 1 << 16

// WithPrefix returns the IDs of all objects that begin with these hexadecimal
// digits, at least two, sorted. The error matches ErrTooLarge if there are more
// than 65,536.
func (db *DB) WithPrefix(prefix string) ([]ID, error) {
	s, err := db.packs(db.snapshot.Load())
	if err != nil {
		return nil, err
	}
	first, err := db.first(prefix)
	if err != nil {
		return nil, err
	}
	var ids []ID
	take := func(id ID) bool {
		if !hasPrefix(id, prefix) {
			return false
		}
		ids = append(ids, id)
		return len(ids) <= maxFound
	}
	for _, d := range s.dirs {
		for _, p := range d.packs {
			x, err := p.idx()
			if err != nil {
				return nil, err
			}
			n, _, err := x.find(first)
			if err == nil {
				err = x.from(n, take)
			}
			if err != nil {
				return nil, &FileError{Path: p.index.path, Err: err}
			}
		}
	}
	for _, dir := range db.dirs {
		entries, err := os.ReadDir(filepath.Join(dir, prefix[:2]))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if id, ok := db.format.ParseID(prefix[:2] + e.Name()); ok {
				take(id)
			}
		}
	}
	if len(ids) > maxFound {
		return nil, fmt.Errorf("%w: more than %d objects begin with %s", ErrTooLarge, maxFound, prefix)
	}
	slices.SortFunc(ids, func(a, b ID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids), nil
}

// first returns the first ID that begins so.
func (db *DB) first(prefix string) (id ID, err error) {
	padded := prefix + "0"[:len(prefix)&1]
	if len(prefix) < 2 || len(prefix) > 2*db.format.Size() {
		return id, fmt.Errorf("%q is no beginning of an object ID", prefix)
	}
	_, err = hex.Decode(id[:], []byte(padded))
	return id, err
}

func hasPrefix(id ID, prefix string) bool {
	return hex.EncodeToString(id[:(len(prefix)+1)/2])[:len(prefix)] == prefix
}
