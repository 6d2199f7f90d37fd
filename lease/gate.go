package lease

import (
	"context"
	"errors"
	"time"
)

// Gate keeps what does not ask for the lease, such as a controller that heals by
// itself, from writing to what a lease in mode borrow covers. It is closed while
// the lease is held, and it ends by itself when the holder is gone: whatever a
// gate closes carries its own end. Package lease/argocd has one. A target without
// a gate is guarded by the record alone.
//
// Every method is one step: it does what can be done now, may be killed at any
// point, and does the rest when it is called again. It returns soon after its
// context has ended. Implementations are safe for concurrent use, and for several
// processes at once.
type Gate interface {
	// Resolve returns the names that a lease of these covers, sorted: the names of
	// all that the target has if there are none. It writes nothing. The error
	// matches ErrInvalid for a name that is not one of the target's, or that
	// cannot be closed without closing more than it names, and if there is nothing
	// to cover. One that is an *Error, too, is returned by Acquire as it is.
	Resolve(ctx context.Context, covers []string) ([]string, error)
	// Close closes the gate until c.Until, once nothing is being written to what
	// it covers. It waits for that for as long as ctx lasts, at most c.Wait; then,
	// and if something slips in while it is being closed, it takes back what it
	// did, and the error matches ErrBusy. Closing it twice for the same claim is
	// closing it once.
	Close(ctx context.Context, c Claim) error
	// Extend moves the end of a closed gate to c.Until, never back, or only looks
	// if that is the end it has. The error matches ErrOpened, and says who opened
	// it or what is missing, if it does not stand any more as it was closed; after
	// any other error it is tried again.
	Extend(ctx context.Context, c Claim) error
	// Open opens the gate of the claim, and lets what it kept away begin anew from
	// what is declared now. It is no error if nothing is closed.
	Open(ctx context.Context, c Claim) (Report, error)
	// Sweep does what Open does for all that is left over of the claim's target:
	// what has ended, what has a lower token, and what has the same token and is
	// not Holder's; if Holder is empty, that is all with this token. It leaves
	// alone what has a higher token and has not ended: that belongs to a later
	// holder, whom the caller has not seen yet.
	Sweep(ctx context.Context, c Claim) (Report, error)
}

// Claim says for whom a gate is closed, what it covers, and until when.
type Claim struct {
	// Namespace and Name are those of the Lease, Target is the target's name.
	Namespace, Name, Target string
	// Holder and Token are those of the lease. Holder is empty for a Sweep while
	// nobody holds it.
	Holder string
	Token  int64
	// User and Purpose are for people.
	User, Purpose string
	// Covers are names as Resolve returned them, at least one. Not used by Sweep.
	Covers []string
	// Now and Until are times of the API server's clock, in whole seconds. Until
	// is when the gate opens by itself: the end of the lease and twice its grace. Zero
	// in a Sweep.
	Now, Until time.Time
	// Wait bounds how long Close waits for what is being written.
	Wait time.Duration
	// Guard is called right before every write of Close and Extend; an error of it
	// ends them, and is returned. It may be nil. It is safe for concurrent use.
	Guard func(context.Context) error
}

// Report is what was found when a gate was opened.
type Report struct {
	// Opened are the gates that were opened, one line each, for people.
	Opened []string
	// Pending is what was covered by them and is not yet as it is declared.
	Pending []Pending
	// Others is what else keeps something that was covered from being written to,
	// one line each: sync windows of other people.
	Others []string
}

// Pending is something that a lease covered, and that is not yet as it is
// declared.
type Pending struct {
	Name   string `json:"name"`
	Reason string `json:"reason"` // one line
	// Failed says that it does not become so by itself: a person has to look.
	Failed bool `json:"failed,omitempty"`
}

var (
	// ErrBusy is returned by Acquire, in mode borrow, when what the lease is to
	// cover is being written to, and does not stop within the request's Wait.
	ErrBusy = errors.New("it is being written to")
	// ErrOpened is the cause of an ErrLost when somebody else opened the lease's
	// gate or changed it.
	ErrOpened = errors.New("the gate was opened")
	// ErrLeftClosed is returned by Release and Break, and by an Acquire that gave
	// the lease back, when the record was written and the gate could not be
	// opened. It opens by itself, or with the next Sweep.
	ErrLeftClosed = errors.New("the gate is left closed, and opens by itself")
)
