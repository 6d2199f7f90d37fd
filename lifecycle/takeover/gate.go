package takeover

import (
	"context"
	"errors"
	"sync"

	"github.com/pharos-dev/pharos/lease"
)

// errHeld is why a connection is not served while it is not known whose the target is.
var errHeld = errors.New("it is not known whether the target is still borrowed")

// gate lets traffic through while the lease is held. A machine that slept does not know
// that: its monotonic clock may have slept, too. So the API server is asked before the
// next byte is served.
type gate struct {
	clock Clock

	mu   sync.Mutex
	held *lease.Held
	// proven is when the API server was asked last.
	proven moment
}

// open lets traffic through from now on: the lease was just acquired or looked at.
func (g *gate) open(held *lease.Held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.proven = held, now(g.clock)
}

// shut lets none through that was let through for this lease.
func (g *gate) shut(held *lease.Held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == held {
		g.held = nil
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = nil
}

// asked is when the API server was asked last.
func (g *gate) asked() moment {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proven
}

// pass says whether a connection may be served now. It asks the API server only if the
// machine seems to have slept.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	held, proven, at := g.held, g.proven, now(g.clock)
	g.mu.Unlock()
	switch {
	case held == nil:
		return errHeld
	case at.sleptSince(proven):
		return g.prove(ctx)
	}
	return nil
}

// prove asks the API server whether the lease is still held.
func (g *gate) prove(ctx context.Context) error {
	g.mu.Lock()
	held, asked := g.held, now(g.clock)
	g.mu.Unlock()
	if held == nil {
		return errHeld
	}
	if err := held.Check(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == held && g.proven.awake < asked.awake {
		g.proven = asked
	}
	return nil
}
