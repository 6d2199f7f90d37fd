package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/receipt"
)

// maxOutcomes bounds the file that holds the outcomes of one receipt, in bytes.
const maxOutcomes = 4 * receipt.MaxSize

func (s *Store) outcomesPath(id receipt.ID) string {
	return filepath.Join(s.outcomes(), id.Hex()+".jsonl")
}

// AddOutcome implements receipt.Store. The whole file is written anew, since a
// line that is appended can be torn by a power failure; a receipt has a handful
// of outcomes.
func (s *Store) AddOutcome(ctx context.Context, id receipt.ID, o receipt.Outcome) error {
	line, err := o.Canonical()
	if err != nil {
		return err
	}
	return s.write(ctx, func() error {
		if _, err := s.find(id); err != nil {
			return err
		}
		path := s.outcomesPath(id)
		fail := func(err error) error { return &FileError{Op: "write outcomes", Path: path, Err: err} }
		data, err := readFile(path, maxOutcomes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
		for have := range bytes.Lines(data) {
			if bytes.Equal(bytes.TrimSuffix(have, []byte("\n")), line) {
				return nil
			}
		}
		data = append(append(data, line...), '\n')
		if len(data) > maxOutcomes {
			return fail(fmt.Errorf("%w: the outcomes of %s have %d bytes, the limit is %d", receipt.ErrTooLarge, id.Short(), len(data), maxOutcomes))
		}
		if err := atomicfile.Write(path, data); err != nil {
			return fail(err)
		}
		return nil
	})
}

// Outcomes implements receipt.Store.
func (s *Store) Outcomes(ctx context.Context, id receipt.ID) ([]receipt.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := receipt.ParseID(string(id)); err != nil {
		return nil, nil // no receipt can have it, so there are no outcomes
	}
	path := s.outcomesPath(id)
	fail := func(err error) ([]receipt.Outcome, error) {
		return nil, &FileError{Op: "read outcomes", Path: path, Err: err}
	}
	data, err := readFile(path, maxOutcomes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return fail(err)
	}
	var list []receipt.Outcome
	n := 0
	for line := range bytes.Lines(data) {
		n++
		o, err := receipt.ParseOutcome(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return fail(fmt.Errorf("%w: line %d: %w", receipt.ErrCorrupt, n, err))
		}
		list = append(list, o)
	}
	return list, nil
}
