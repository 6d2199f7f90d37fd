package supervise

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/internal/keptfile"
)

// File keeps a State in a folder of its own, for this user alone: in the file
// state.json, in the format of Encode, or in none for the zero State. A process that is
// killed, or a machine that loses power, leaves the old state or the new one. It is
// safe for concurrent use, also by several processes of one machine. Network file
// systems are not safe: their locks may not hold.
type File struct{ file *keptfile.File }

var _ Store = (*File)(nil)

// NewFile returns the store in a folder, which it creates (0700) if need be. Nothing
// else may be kept there.
func NewFile(dir string) (*File, error) {
	if dir == "" {
		return nil, fmt.Errorf("supervise: %w: a File needs its folder", ErrInvalid)
	}
	f, err := keptfile.Open(dir, "state.json", largest)
	if err != nil {
		return nil, fmt.Errorf("create the folder of a restart budget: %w", err)
	}
	return &File{f}, nil
}

// largest is more than any state takes.
const largest = 64 << 10

// Load implements Store.
func (f *File) Load(ctx context.Context) (State, string, error) {
	if err := ctx.Err(); err != nil {
		return State{}, "", err
	}
	data, version, err := f.file.Read()
	if err != nil {
		return State{}, "", fail("read", err)
	}
	if data == nil {
		return State{}, "", nil
	}
	s, err := Decode(data)
	if err != nil {
		return State{}, "", fmt.Errorf("read the restart budget %s: %w. Nothing is restarted until it can be read: keep a copy, and remove it", f.file.Path(), err)
	}
	return s, version, nil
}

// Save implements Store. It holds a lock for the time of a few flushes, so waiting for it
// does not look at ctx.
func (f *File) Save(ctx context.Context, s State, version string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := Encode(s)
	if err != nil {
		return err
	}
	if s == (State{}) {
		err = f.file.Remove(version)
	} else {
		_, err = f.file.Write(data, version)
	}
	return fail("write", err)
}

// fail wraps an error of the file.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keptfile.ErrConflict):
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	case errors.Is(err, keptfile.ErrKind):
		err = fmt.Errorf("%w: %w. Move it away", ErrDamaged, err)
	}
	return fmt.Errorf("%s the restart budget: %w", op, err)
}
