package takeover

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// errHeld is why a connection is not served while it is not known whose the target is.
var errHeld = errors.New("it is not known whether the target is still borrowed")

// jump is by how much more the wall clock may move than the monotonic one before the
// machine is taken to have slept.
const jump = 2 * time.Second

// gate lets traffic through while the lease is held. A machine that slept does not know
// that: its monotonic clock may have slept, too. So the API server is asked before the
// next byte is served.
type gate struct {
	clock lease.Clock

	mu   sync.Mutex
	held *lease.Held
	// proven is when the API server was asked last.
	proven time.Time
}

// open lets traffic through from now on: the lease was just acquired or looked at.
func (g *gate) open(held *lease.Held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.proven = held, g.clock.Now()
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = nil
}

// pass says whether a connection may be served now. It asks the API server only if the
// machine seems to have slept.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	held, proven, now := g.held, g.proven, g.clock.Now()
	g.mu.Unlock()
	switch {
	case held == nil:
		return errHeld
	case slept(proven, now):
		return g.prove(ctx)
	case !now.Before(held.Deadline()):
		return errHeld
	}
	return nil
}

// prove asks the API server whether the lease is still held.
func (g *gate) prove(ctx context.Context) error {
	g.mu.Lock()
	held, asked := g.held, g.clock.Now()
	g.mu.Unlock()
	if held == nil {
		return errHeld
	}
	if err := held.Check(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == held && g.proven.Before(asked) {
		g.proven = asked
	}
	return nil
}

// slept says whether the wall clock moved otherwise than the monotonic one, which does
// not move while a machine sleeps.
func slept(since, now time.Time) bool {
	wall, awake := now.Round(0).Sub(since.Round(0)), now.Sub(since)
	return wall-awake > jump || awake-wall > jump
}
