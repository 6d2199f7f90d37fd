package main

import (
	"errors"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// orOurs has an error of a target that is borrowed say so if it is from this
// repository: then nobody else has to be asked.
func (s *shared) orOurs(err error) error {
	held, ok := errors.AsType[*lease.HeldError](err)
	if !ok || held.State.Mode != lease.ModeBorrow || !s.keptHere(held.Target, held.State.Holder) {
		return err
	}
	if blocked, ok := errors.AsType[*lifecycle.BlockedError](err); ok {
		blocked.Next = "It was acquired in this repository. Hand it back first: kubectl pharos lease release"
	}
	return err
}
