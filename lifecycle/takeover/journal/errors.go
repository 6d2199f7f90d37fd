package journal

import "errors"

var (
	// ErrInvalid is returned for a configuration or a Document that breaks a rule.
	ErrInvalid = errors.New("invalid")
	// ErrNone is returned when nothing is written down.
	ErrNone = errors.New("there is no session")
	// ErrExists is returned by a create where there is a session already.
	ErrExists = errors.New("there is a session already")
	// ErrConflict is returned when somebody else has written meanwhile. Nothing was
	// done.
	ErrConflict = errors.New("somebody else has written meanwhile")
	// ErrDamaged is returned when what is written down cannot be read. It is left as
	// it is.
	ErrDamaged = errors.New("what is written down cannot be read")
	// ErrLater is returned, beside ErrDamaged, for what a later version of Pharos has
	// written.
	ErrLater = errors.New("it was written by a later version of Pharos")
	// ErrEnding is returned by a heartbeat when somebody else puts the session's
	// workloads back: see Document.Ending.
	ErrEnding = errors.New("the session was ended by somebody else")
)
