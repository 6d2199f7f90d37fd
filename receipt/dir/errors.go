package dir

import "fmt"

// FileError says which file of the store could not be used, and why.
type FileError struct {
	Op   string // "read record", "write pointers"
	Path string
	// Err is the cause; receipt.ErrCorrupt is among its causes if the file
	// holds something else than it should.
	Err error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }
