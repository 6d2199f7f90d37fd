package supervise

import "errors"

var (
	// ErrInvalid is returned for a Config that breaks a rule.
	ErrInvalid = errors.New("invalid")
	// ErrConflict is returned when somebody else has written meanwhile, again and
	// again. Nothing was done; the next step looks anew.
	ErrConflict = errors.New("somebody else has written meanwhile")
	// ErrDamaged is returned when what is stored cannot be read. It is left as it is,
	// and nothing is restarted.
	ErrDamaged = errors.New("what is stored cannot be read")
)
