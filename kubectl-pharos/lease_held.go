package main

import (
	"errors"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// leaseError says of a lease that somebody else holds what can be done about it.
func leaseError(repo *source.Repository, err error) error {
	held, ok := errors.AsType[*lease.HeldError](err)
	if !ok {
		return lifecycle.TargetError(err)
	}
	blocked := &lifecycle.BlockedError{
		Reason: strings.TrimSpace(err.Error()), Holder: held.State.Who(), Mode: string(held.State.Mode), Until: held.State.Expires,
		Next: "Ask for it, or wait for its end with --wait. Who holds it: kubectl pharos lease show", Err: err,
	}
	if keptHere(repo, held.Target, held.State.Holder) {
		blocked.Next = "It was acquired in this repository. Give it back with: kubectl pharos lease release"
	}
	return blocked
}
