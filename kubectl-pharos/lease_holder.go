package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// The ID of a holder is kept in a file of its own, private to the checkout: whoever
// knows it can release the lease. It is written before the lease is acquired, so
// that a process may be killed right afterwards; and commands that run at once in a
// checkout never write the same file. Which of the holders has the lease, if any,
// the lease says.

// holdersOf is the folder, and how the names of a target's files begin there.
func (s *shared) holdersOf(target string) (folder, prefix string) {
	return filepath.Join(s.gitDir, "pharos", "leases"), target + "." // no target's name has a dot
}

// keepHolder is for a lease that is about to be acquired; now is how it stands.
func (s *shared) keepHolder(target, holder string, now lease.State) error {
	folder, prefix := s.holdersOf(target)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = errors.Join(atomicfile.Write(filepath.Join(folder, prefix+holder), []byte(holder+"\n")), s.forgetOldHolders(target, now.Holder))
	}
	if err != nil {
		return fmt.Errorf("nothing was acquired, since the holder's ID, by which the lease is found again, cannot be kept: %w\n"+
			"Make sure that files can be written in %s, and run the same command again", err, folder)
	}
	return nil
}

// keptHere says whether a holder's ID, which may be anything, is kept.
func (s *shared) keptHere(target, holder string) bool {
	kept := false
	_ = s.eachHolder(target, func(id string, _ fs.DirEntry) error {
		kept = kept || id == holder
		return nil
	})
	return kept
}

// forgetHolder removes what was kept of a holder, if anything was.
func (s *shared) forgetHolder(target, holder string) error {
	return s.eachHolder(target, func(id string, file fs.DirEntry) error {
		if id != holder {
			return nil
		}
		return s.removeHolder(file)
	})
}

// oldHolder is how long the ID of a holder is kept that does not have the lease. It
// may still be waiting for it; after two days its process was killed.
const oldHolder = 48 * time.Hour

func (s *shared) forgetOldHolders(target, current string) error {
	return s.eachHolder(target, func(id string, file fs.DirEntry) error {
		info, err := file.Info()
		if err != nil || id == current || time.Since(info.ModTime()) < oldHolder {
			return nil
		}
		return s.removeHolder(file)
	})
}

func (s *shared) eachHolder(target string, do func(id string, file fs.DirEntry) error) error {
	folder, prefix := s.holdersOf(target)
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, f := range files {
		if id, ok := strings.CutPrefix(f.Name(), prefix); ok {
			errs = append(errs, do(id, f))
		}
	}
	return errors.Join(errs...)
}

// heldHere returns the lease if it was acquired in this repository, whether or not
// it has run out since. Else the error begins with what there is not.
func (s *shared) heldHere(ctx context.Context, t standard.Target, so standard.Options, nothing string) (lease.State, error) {
	m, err := standard.NewLease(t, so)
	if err != nil {
		return lease.State{}, err
	}
	now, err := m.Inspect(ctx)
	switch {
	case err != nil:
		return now, lifecycle.TargetError(err)
	case now.Holder != "" && s.keptHere(t.Name, now.Holder):
		return now, nil
	case !now.Held && now.Broken != nil && s.keptHere(t.Name, now.Broken.Holder):
		return now, notSo("%s: %s", nothing, now.Broken)
	case !now.Held:
		return now, notSo("%s: the lease of target %q is free", nothing, t.Name)
	}
	return now, notSo("%s: no lease of target %q was acquired in this repository\n"+
		"For one that was acquired elsewhere give --holder, which this says: kubectl pharos lease show -o jsonpath={.holder}", nothing, t.Name)
}

func (s *shared) removeHolder(file fs.DirEntry) error {
	folder, _ := s.holdersOf("")
	if err := os.Remove(filepath.Join(folder, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
