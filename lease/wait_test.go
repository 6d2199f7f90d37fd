package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

func waiting(r lease.Request, d time.Duration) lease.Request {
	r.Wait = d
	return r
}

// Who waits gets the lease when it has run out, and no earlier.
func TestWaitForExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := acquire(t, w.manager(t), deliver)
	w.server.jumps = true // waiting is what makes time pass
	h := acquire(t, w.manager(t), waiting(borrow, time.Minute))
	if waited := h.State().Acquired.Sub(old.State().Expires); waited <= 5*time.Second || waited > 7*time.Second {
		t.Errorf("acquired %s after the end, want just after the grace of 5 s", waited)
	}
	if h.Token() != first+1 {
		t.Errorf("token %d", h.Token())
	}
}

func TestWaitTooShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acquire(t, w.manager(t), deliver)
	start := w.server.Now()
	w.server.jumps = true
	_, err := w.manager(t).Acquire(t.Context(), waiting(borrow, 10*time.Second+time.Millisecond))
	var held *lease.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("%v, want a *HeldError", err)
	}
	if waited := w.server.Now().Sub(start); waited != 10*time.Second+time.Millisecond {
		t.Errorf("waited %s", waited)
	}
}

func TestWaitForRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := acquire(t, w.manager(t), maintain)
	machine := newClock()
	m := manager(t, w.config(machine))
	result := make(chan error, 1)
	go func() {
		h, err := m.Acquire(t.Context(), waiting(deliver, time.Hour))
		if err == nil && h.Token() != first+1 {
			err = errors.New("wrong token")
		}
		result <- err
	}()
	for range 3 {
		machine.awaitTimer()
		machine.advance(time.Second)
	}
	machine.awaitTimer()
	if err := old.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	machine.advance(time.Second)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// Who is interrupted while waiting learns of that, and of whom it waited for.
func TestWaitInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acquire(t, w.manager(t), maintain)
	machine := newClock()
	m := manager(t, w.config(machine))
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := m.Acquire(ctx, waiting(deliver, time.Hour))
		result <- err
	}()
	machine.awaitTimer()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || !errors.Is(err, lease.ErrHeld) {
		t.Errorf("%v, want context.Canceled and ErrHeld", err)
	}
}
