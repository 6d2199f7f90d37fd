package lease

import (
	"errors"
	"fmt"
	"strings"
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
	// Held says whether somebody holds the lease at Now: somebody acquired it,
	// and its end and the grace after it have not passed. Nobody else can
	// acquire it until then.
	Held bool
	Mode Mode
	// Holder is a random session ID; User is user@host, for people. Mode, User
	// and Purpose have no control characters and at most 256 bytes, whatever
	// was written into the Lease.
	Holder, User string
	Purpose      string
	// Covers are the names of what the lease covers; empty means all of the
	// target.
	Covers []string
	// Acquired, Renewed and Expires are times of the API server's clock.
	// Expires is zero if the lease does not end by itself.
	Acquired, Renewed, Expires time.Time
	// Token is the fencing token: it grows with every acquisition.
	Token int64
	// Now is the API server's time when the lease was read, in whole seconds.
	Now time.Time
	// Broken says who broke the lease last, whoever has acquired it since; nil if
	// nobody did. If it was Holder's, that is held no more than for the grace.
	Broken *Broken
}

// Who names the holder for people, in one line: its user, or else its ID.
func (s State) Who() string {
	if s.User != "" {
		return s.User
	}
	return oneLine(s.Holder)
}

// WasBroken says of a lease that is Held that it was broken: nobody has it any more,
// and others can acquire it after the grace.
func (s State) WasBroken() bool { return s.Held && s.brokenFor(s.Holder) }

// HeldError is returned by Acquire when somebody else holds the lease.
type HeldError struct {
	Target string
	State  State
	Now    time.Time // the API server's time when it was read
}

func (e *HeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the lease of target %q is held by %s", e.Target, e.State.Who())
	if e.State.Mode != "" {
		fmt.Fprintf(&b, " in mode %s", e.State.Mode)
	}
	switch {
	case e.State.WasBroken():
		fmt.Fprintf(&b, " and was broken by %s at %s: it can be acquired in a few seconds", e.State.Broken.By, e.State.Broken.At.Format(time.RFC3339))
	case e.State.Expires.IsZero():
		b.WriteString(" until it is released")
	case e.State.Expires.After(e.Now):
		fmt.Fprintf(&b, " until %s (%s left)", e.State.Expires.UTC().Format(time.RFC3339), e.State.Expires.Sub(e.Now).Round(time.Second))
	default:
		fmt.Fprintf(&b, " and ran out at %s: it can be acquired in a few seconds", e.State.Expires.UTC().Format(time.RFC3339))
	}
	if e.State.Purpose != "" {
		b.WriteString(": " + e.State.Purpose)
	}
	return b.String()
}

// Is reports that a HeldError is an ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// LostError is returned by a holder's methods when the lease is not its own any
// more. It stays lost: to go on, acquire it again.
type LostError struct {
	Target string
	Reason string // "it ran out", "ann@laptop acquired it", "ann@laptop broke it"
	State  State  // as last read
	Err    error  // the cause, such as an ErrOpened; nil if Reason says all
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the lease of target %q is lost: %s", e.Target, e.Reason)
}

// Is reports that a LostError is an ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns the cause, nil if there is none.
func (e *LostError) Unwrap() error { return e.Err }

// Error says what was attempted on a target's lease, and why it failed. The
// causes that callers decide by are ErrNoNamespace, ErrInvalid and the API
// server's own errors (k8s.io/apimachinery/pkg/api/errors).
type Error struct {
	Op     string // "acquire lease"
	Object string // "Lease pharos/pharos-devbox"
	Err    error
	Advice string // what to do, one line; may be empty
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %s: %v", e.Op, e.Object, e.Err)
	if e.Advice != "" {
		msg += "\n" + e.Advice
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrHeld is returned by Acquire when somebody else holds the lease; it is
	// a *HeldError.
	ErrHeld = errors.New("the lease is held")
	// ErrLost is returned by a holder's methods when the lease is not its own
	// any more: it ran out, was released or broken, was acquired by somebody
	// else, or its gate was opened. It is a *LostError.
	ErrLost = errors.New("the lease is lost")
	// ErrNotHeld is returned by Break when nobody holds the lease.
	ErrNotHeld = errors.New("nobody holds the lease")
	// ErrNoNamespace is returned by Acquire when the namespace of the lease
	// does not exist.
	ErrNoNamespace = errors.New("the namespace does not exist")
	// ErrInvalid is returned for a Config, a request or a name that breaks a rule.
	ErrInvalid = errors.New("invalid")
)
