package lease

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Keep renews the lease in the background until ctx ends or stop is called. If
// the lease is lost the reason, which is an ErrLost, is sent on the channel. The
// channel is closed when renewing has ended, whatever ended it. stop ends it,
// waits until it has, and may be called several times; it does not release the
// lease.
//
// A renewal that fails is tried again after the RetryPeriod while the lease
// lasts. A lease that has reached its Max is lost when it ends.
func (h *Held) Keep(ctx context.Context) (lost <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan error, 1) // so that nobody needs to listen
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(ch)
		if err := h.keep(ctx); errors.Is(err, ErrLost) {
			ch <- err
		}
	}()
	return ch, sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// keep returns ErrLost, or ctx's error.
func (h *Held) keep(ctx context.Context) error {
	every := h.m.config.timing(h.mode).RenewEvery
	wait := h.due()
	for {
		if err := h.m.sleep(ctx, h.untilDeadline(wait)); err != nil {
			return err
		}
		err := h.Renew(ctx)
		switch {
		case errors.Is(err, ErrLost):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			h.m.config.Log.Warn("the lease could not be renewed", "target", h.m.config.Target, "until", h.Deadline(), "err", err)
			wait = h.m.config.RetryPeriod
		default:
			wait = every
		}
	}
}

// due is in how long the first renewal has to be. A lease that was just renewed
// has time; one that was taken up, or that is held for less than the Duration of
// its mode, may have none.
func (h *Held) due() time.Duration {
	t := h.m.config.timing(h.mode)
	end := h.Deadline()
	if end.IsZero() {
		return t.RenewEvery
	}
	left := end.Sub(h.m.config.Clock.Now())
	return max(0, min(t.RenewEvery, left-(t.Duration-h.m.config.Margin-t.RenewEvery)))
}

// untilDeadline cuts d short where the lease ends before.
func (h *Held) untilDeadline(d time.Duration) time.Duration {
	if end := h.Deadline(); !end.IsZero() {
		return max(0, min(d, end.Sub(h.m.config.Clock.Now())))
	}
	return d
}
