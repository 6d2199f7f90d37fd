package sweep

import (
	"context"
	"errors"
)

// Notify records a warning Event on the object with this UID if it ends within
// Config.NotifyBefore, once for each deadline, whatever was killed in between. With
// Waiting it was warned of, now or before.
func (e *Ender) Notify(_ context.Context, _ Resource, _, _, _ string) (Result, error) {
	return Result{}, errors.New("not yet")
}
