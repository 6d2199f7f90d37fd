package main

import (
	"errors"
	"strings"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// orOurs has an error of a target that is borrowed say so if it is from this
// repository: then nobody else has to be asked. Of one that is taken over it says how
// that is handed back, since releasing its lease does not.
func (s *shared) orOurs(err error) error {
	held, ok := errors.AsType[*lease.HeldError](err)
	blocked, refused := errors.AsType[*lifecycle.BlockedError](err)
	if !ok || !refused || held.State.Mode != lease.ModeBorrow {
		return err
	}
	switch {
	case strings.HasPrefix(held.State.Purpose, takeoverPurpose):
		blocked.Next = handTakeoverBack
	case s.keptHere(held.Target, held.State.Holder):
		blocked.Next = "It was acquired in this repository. Hand it back first: kubectl pharos lease release"
	}
	return err
}
