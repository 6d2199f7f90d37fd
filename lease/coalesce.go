package lease

import (
	"context"
	"errors"
	"sync"
)

// coalescer lets callers share the result of a call that began after each of
// them asked for it. There is at most one call running and one that waits for
// it to end; whoever asks joins the one that waits. It is a caller that makes
// the call, so that no goroutine is left behind.
type coalescer struct {
	mu      sync.Mutex
	running *flight
	next    *flight
}

type flight struct {
	done chan struct{} // closed when err is set
	err  error
}

// errAbandoned says that the caller which was to make the call gave up. It is
// no answer for those that joined it.
var errAbandoned = errors.New("abandoned")

func (c *coalescer) do(ctx context.Context, call func(context.Context) error) error {
	for {
		c.mu.Lock()
		f, before := c.next, c.running
		lead := f == nil
		if lead {
			f = &flight{done: make(chan struct{})}
			c.next = f
		}
		c.mu.Unlock()

		if lead {
			return c.lead(ctx, f, before, call)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !errors.Is(f.err, errAbandoned) {
			return f.err
		}
	}
}

// lead makes the call of f once the one before it has ended.
func (c *coalescer) lead(ctx context.Context, f, before *flight, call func(context.Context) error) error {
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	c.next = nil // from here on it is too late to join
	if ctx.Err() == nil {
		c.running = f
	}
	c.mu.Unlock()

	err := context.Cause(ctx)
	if err == nil {
		err = call(ctx)
	}
	f.err = err
	if ctx.Err() != nil {
		f.err = errAbandoned
	}
	c.mu.Lock()
	if c.running == f {
		c.running = nil
	}
	c.mu.Unlock()
	close(f.done)
	return err
}
