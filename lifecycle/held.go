package lifecycle

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/lease"
)

// whileHeld runs f while the lease is renewed. If the lease is lost, it ends f's
// context with that as its cause, and the error matches lease.ErrLost.
func whileHeld(ctx context.Context, held *lease.Held, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lost, stop := held.Keep(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := <-lost; err != nil {
			cancel(err)
		}
	}()
	err := f(ctx)
	stop()
	<-watched
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, lease.ErrLost) && !errors.Is(err, lease.ErrLost) {
		err = errors.Join(cause, err)
	}
	return err
}
