package lease

import (
	"errors"
	"fmt"
	"time"
)

// Mode says what a lease is held for.
type Mode string

// The modes of a lease.
const (
	ModeDeliver  Mode = "deliver"  // a delivery is writing to the target: seconds
	ModeBorrow   Mode = "borrow"   // a person runs something else on it: hours
	ModeMaintain Mode = "maintain" // nobody delivers until the target is healthy again
)

// State is a lease as it stands on the target.
type State struct {
	// Held says whether somebody holds the lease at the API server's time of
	// the answer it was read from, the grace included.
	Held bool
	Mode Mode
	// Holder is a random session ID; User is user@host, for people.
	Holder, User string
	Purpose      string
	// Covers are the names of what the lease covers; empty means all of the
	// target.
	Covers                     []string
	Acquired, Renewed, Expires time.Time
	// Token is the fencing token: it grows with every acquisition.
	Token int64
}

// HeldError is returned by Acquire when somebody else holds the lease.
type HeldError struct {
	Target string
	State  State
	Now    time.Time // the API server's time when it was read
}

func (e *HeldError) Error() string {
	who := e.State.User
	if who == "" {
		who = e.State.Holder
	}
	msg := fmt.Sprintf("the lease of target %q is held by %s in mode %s until %s (%s left)",
		e.Target, who, e.State.Mode, e.State.Expires.UTC().Format(time.RFC3339), e.State.Expires.Sub(e.Now).Round(time.Second))
	if e.State.Purpose != "" {
		msg += ": " + e.State.Purpose
	}
	return msg
}

// Is reports that a HeldError is an ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

var (
	// ErrHeld is returned by Acquire when somebody else holds the lease; it is
	// a *HeldError.
	ErrHeld = errors.New("the lease is held")
	// ErrLost is returned by a holder's methods when the lease is not its own
	// any more: it ran out, was broken, or was acquired by somebody else.
	ErrLost = errors.New("the lease is lost")
)
