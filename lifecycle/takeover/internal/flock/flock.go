// Package flock keeps two processes of one machine from doing the same at once. A lock
// ends with its process, however that ends.
package flock

import "errors"

// ErrLocked is matched by the error of Lock when somebody else has the lock, in another
// process or in this one.
var ErrLocked = errors.New("somebody else has the lock")
