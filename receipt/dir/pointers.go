package dir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	Applied receipt.ID `json:"applied"`
	Live    receipt.ID `json:"live,omitempty"`
	// Repository is there also if it is empty, so that a target that was never
	// bound differs from one whose binding somebody removed.
	Repository *string `json:"repository"`
}

// pointers returns what the file says, if it is what a store writes.
func (f pointersFile) pointers() (receipt.Pointers, error) {
	if f.Version == 0 {
		return receipt.Pointers{}, errors.New("it has no version")
	}
	if f.Repository == nil {
		return receipt.Pointers{}, errors.New("repository: is missing")
	}
	p := receipt.Pointers{Applied: f.Applied, Live: f.Live, Repository: *f.Repository, Version: strconv.FormatUint(f.Version, 10)}
	return p, p.Validate()
}

// Pointers implements receipt.Store.
func (s *Store) Pointers(ctx context.Context) (receipt.Pointers, error) {
	if err := ctx.Err(); err != nil {
		return receipt.Pointers{}, err
	}
	return s.readPointers()
}

// SetPointers implements receipt.Store.
func (s *Store) SetPointers(ctx context.Context, old, new receipt.Pointers) (receipt.Pointers, error) {
	if err := new.Validate(); err != nil {
		return receipt.Pointers{}, err
	}
	next := pointersFile{Applied: new.Applied, Live: new.Live, Repository: &new.Repository}
	err := s.write(ctx, func() error {
		have, err := s.readPointers()
		switch {
		case err != nil && (have.Version == "" || have.Version != old.Version):
			return err
		case err != nil:
			// The file's own count is lost; the time is ahead of any.
			next.Version = uint64(s.clock.Now().UnixNano())
		case have.Version != old.Version:
			return receipt.ErrConflict
		case have.Version == "":
			next.Version = 1
		default:
			count, err := strconv.ParseUint(have.Version, 10, 64)
			if err != nil {
				return &FileError{Op: "write pointers", Path: s.pointersPath(), Err: err}
			}
			next.Version = count + 1
		}
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
	return next.pointers()
}

func (s *Store) pointersPath() string { return filepath.Join(s.dir, "pointers.json") }

// readPointers returns the pointers of the file. Beside a receipt.ErrCorrupt
// their Version stands for the damaged content, if that could be read.
func (s *Store) readPointers() (receipt.Pointers, error) {
	const limit = 1 << 10
	var p receipt.Pointers
	fail := func(err error) (receipt.Pointers, error) {
		return p, &FileError{Op: "read pointers", Path: s.pointersPath(), Err: err}
	}
	data, err := readFile(s.pointersPath(), limit)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if errors.Is(err, receipt.ErrCorrupt) {
		// Too large to read: a writer of the store never made it, so that how
		// large it is tells it from what one would make of it.
		if info, serr := os.Stat(s.pointersPath()); serr == nil && info.Mode().IsRegular() {
			p.Version = fmt.Sprintf("damaged-%d-%d", info.Size(), info.ModTime().UnixNano())
		}
		return fail(err)
	}
	if err != nil {
		return fail(err)
	}
	var f pointersFile
	err = json.Unmarshal(data, &f, json.RejectUnknownMembers(true))
	if err == nil {
		p, err = f.pointers()
	}
	if err != nil {
		p = receipt.Pointers{Version: fmt.Sprintf("damaged-%x", sha256.Sum256(data))}
		return fail(fmt.Errorf("%w: %w", receipt.ErrCorrupt, err))
	}
	return p, nil
}
