package agent

import (
	"context"
	"time"
)

// retryFirst and retryMost are how long a connection waits before it is offered again
// to a process that did not take it.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 500 * time.Millisecond
)

// patience is how long a caller waits, all in all.
type patience struct {
	left  time.Duration
	delay time.Duration
	again bool // it was taken, and lost before anything was said
}

// begin begins to wait, until met is called, at the longest until the context ends.
func (p *patience) begin(ctx context.Context) (waiting context.Context, met func()) {
	begun := time.Now()
	waiting, cancel := context.WithTimeout(ctx, p.left)
	return waiting, func() {
		cancel()
		p.left -= time.Since(begun)
	}
}

// pause waits before the connection is offered again, each time for longer.
func (p *patience) pause(ctx context.Context) {
	pause(ctx, p.delay)
	p.delay = min(2*p.delay, retryMost)
}

// served says that the connection was taken for so long.
func (p *patience) served(d time.Duration) {
	p.again = true
	if d > retryMost {
		p.delay = retryFirst
	}
}
