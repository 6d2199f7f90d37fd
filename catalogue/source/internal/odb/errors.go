package odb

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned for an object that no pack and no file holds.
	ErrNotFound = errors.New("not found in the object store")
	// ErrCorrupt is returned for an object whose content is not what its ID
	// says, or that cannot be unpacked.
	ErrCorrupt = errors.New("corrupt object")
	// ErrTooLarge is returned for an object that needs more than the limits of
	// this package to be unpacked.
	ErrTooLarge = errors.New("too large")
)

// errGone is for a file that was removed or replaced since it was found: the
// packs are not those that they were.
var errGone = errors.New("it was removed or replaced meanwhile")

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

// FileError is an error with the file that it is about.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }
