package divert

import (
	"errors"
	"strings"
)

var (
	// ErrInvalid is returned for a Config or an argument that breaks a rule, and for
	// an object that cannot be read.
	ErrInvalid = errors.New("invalid")
	// ErrChanged is returned when the Deployment is not any more what was planned
	// with. Nothing was written: plan again.
	ErrChanged = errors.New("it was changed meanwhile")
	// ErrOverwritten is returned when somebody else has put other values in the place of
	// the agent's. Nothing was written: what they left of the agent is to be restored.
	ErrOverwritten = errors.New("somebody has changed what the agent needs")
	// ErrGone is returned when the Deployment does not exist, or when the one of this
	// name is another one.
	ErrGone = errors.New("it is not there any more")
	// ErrNotDelivered is returned when the Deployment is not marked any more as delivered
	// to the target. Nothing was written.
	ErrNotDelivered = errors.New("it is not the target's")
	// ErrRejected is matched by every *RejectedError.
	ErrRejected = errors.New("the cluster does not accept it")
)

// RejectedError says that the API server did not accept a patch: by admission, quota
// or validation. Trying again does not help.
type RejectedError struct {
	Op      string // "divert", "restore"
	Subject Subject
	Err     error // the server's
	Advice  string
}

func (e *RejectedError) Error() string {
	msg := e.Op + " " + e.Subject.String() + ": " + strings.TrimSpace(e.Err.Error())
	if e.Advice != "" {
		msg += "\n" + e.Advice
	}
	return msg
}

// Unwrap returns ErrRejected and the server's error.
func (e *RejectedError) Unwrap() []error { return []error{ErrRejected, e.Err} }
