package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Report is what Compare found. It is safe for concurrent use as long as nobody
// modifies it.
type Report struct {
	// Entries are all references that are in use, and all that the lock holds,
	// sorted by reference.
	Entries []Entry

	held catalogue.Lock
	anew bool // held could not be read
}

// Count returns how many entries are in a state.
func (r *Report) Count(s State) int {
	n := 0
	for _, e := range r.Entries {
		if e.State == s {
			n++
		}
	}
	return n
}

// Differs says whether the lock is not as it should be, as far as was asked.
func (r *Report) Differs() bool { return r.anew || r.Count(Unchanged) < len(r.Entries) }

// Lock returns the lock as it should be: what is missing and what moved with the
// new digests, without what is unused. An entry that failed is as it was.
func (r *Report) Lock() catalogue.Lock {
	images := map[string]string{}
	for _, e := range r.Entries {
		switch {
		case e.Digest != "":
			images[e.Reference] = string(e.Digest)
		case e.State == Failed && e.Previous != "":
			images[e.Reference] = string(e.Previous)
		}
	}
	return catalogue.Lock{Images: images}
}

func (r *Report) failures() error {
	e := &FailedError{Of: len(r.Entries) - r.Count(Unused)}
	for _, entry := range r.Entries {
		if entry.State == Failed {
			e.Entries = append(e.Entries, entry)
		}
	}
	if len(e.Entries) == 0 {
		return nil
	}
	return e
}

// Write makes the pharos.lock of a checkout, whose root is the folder, what Lock
// returns, and says whether it changed the file. It makes no file where there is
// none and nothing to lock.
//
// It writes nothing if a reference failed: the error is the *FailedError. It
// matches [ErrChanged] if the file does not hold what the compared tree's does:
// somebody else wrote it meanwhile, or Git ignores it.
func (r *Report) Write(root string) (changed bool, err error) {
	if err := r.failures(); err != nil {
		return false, err
	}
	want := r.Lock()
	data, err := want.Marshal()
	if err != nil {
		return false, fmt.Errorf("write %s: %w", catalogue.LockFileName, err)
	}
	path := filepath.Join(root, catalogue.LockFileName)
	now, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(want.Images) == 0 && len(r.held.Images) == 0:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if err := r.checkHeld(now); err != nil {
		return false, err
	}
	// Git may have given the lines other ends in a checkout.
	if bytes.Equal(bytes.ReplaceAll(now, []byte("\r\n"), []byte("\n")), data) {
		return false, nil
	}
	if err := atomicfile.Replace(path, data); err != nil {
		return false, err
	}
	return true, nil
}

// checkHeld compares what the file holds now with what was compared.
func (r *Report) checkHeld(now []byte) error {
	if r.anew {
		return nil
	}
	var held catalogue.Lock
	var err error
	if now != nil {
		held, err = catalogue.ParseLock(catalogue.LockFileName, now)
	}
	if err == nil && maps.Equal(held.Images, r.held.Images) {
		return nil
	}
	return &lifecycle.Error{
		Op: "write", On: catalogue.LockFileName, Class: lifecycle.ErrSource, Err: ErrChanged,
		Advice: "Run kubectl pharos lock again. If that does not help, Git ignores the file: take it out of .gitignore.",
	}
}
