package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/receipt"
)

// pointersFile is the content of pointers.json. Version grows with every
// write, so that pointers which were moved away and back are a conflict too.
type pointersFile struct {
	Version uint64     `json:"version"`
	Applied receipt.ID `json:"applied,omitempty"`
	Live    receipt.ID `json:"live,omitempty"`
}

func (f pointersFile) pointers() receipt.Pointers {
	p := receipt.Pointers{Applied: f.Applied, Live: f.Live}
	if f.Version > 0 {
		p.Version = strconv.FormatUint(f.Version, 10)
	}
	return p
}

// Pointers implements receipt.Store.
func (s *Store) Pointers(ctx context.Context) (receipt.Pointers, error) {
	if err := ctx.Err(); err != nil {
		return receipt.Pointers{}, err
	}
	f, err := s.readPointers()
	if err != nil {
		return receipt.Pointers{}, err
	}
	return f.pointers(), nil
}

// SetPointers implements receipt.Store.
func (s *Store) SetPointers(ctx context.Context, old, new receipt.Pointers) (receipt.Pointers, error) {
	if err := checkIDs(new.Applied, new.Live); err != nil {
		return receipt.Pointers{}, err
	}
	var next pointersFile
	err := s.write(ctx, func() error {
		have, err := s.readPointers()
		if err != nil {
			return err
		}
		if have.pointers().Version != old.Version {
			return receipt.ErrConflict
		}
		next = pointersFile{Version: have.Version + 1, Applied: new.Applied, Live: new.Live}
		data, err := json.Marshal(next)
		if err == nil {
			err = atomicfile.Write(s.pointersPath(), data)
		}
		if err != nil {
			return &FileError{Op: "write pointers", Path: s.pointersPath(), Err: err}
		}
		return nil
	})
	if err != nil {
		return receipt.Pointers{}, err
	}
	return next.pointers(), nil
}

func (s *Store) pointersPath() string { return filepath.Join(s.dir, "pointers.json") }

func (s *Store) readPointers() (pointersFile, error) {
	const limit = 1 << 10
	fail := func(err error) (pointersFile, error) {
		return pointersFile{}, &FileError{Op: "read pointers", Path: s.pointersPath(), Err: err}
	}
	data, err := readFile(s.pointersPath(), limit)
	if errors.Is(err, fs.ErrNotExist) {
		return pointersFile{}, nil
	}
	if err != nil {
		return fail(err)
	}
	var f pointersFile
	if err := json.Unmarshal(data, &f, json.RejectUnknownMembers(true)); err != nil {
		return fail(fmt.Errorf("%w: %w", receipt.ErrCorrupt, err))
	}
	if err := checkIDs(f.Applied, f.Live); err != nil {
		return fail(fmt.Errorf("%w: %w", receipt.ErrCorrupt, err))
	}
	if f.Version == 0 {
		return fail(fmt.Errorf("%w: it has no version", receipt.ErrCorrupt))
	}
	return f, nil
}

// checkIDs wants IDs or nothing.
func checkIDs(ids ...receipt.ID) error {
	for _, id := range ids {
		if id == "" {
			continue
		}
		if _, err := receipt.ParseID(string(id)); err != nil {
			return err
		}
	}
	return nil
}
