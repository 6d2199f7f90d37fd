package agent

import (
	"context"
	"sync"
	"time"
)

// gate says whether connections may be opened now, and since when not.
type gate struct {
	away time.Duration

	mu      sync.Mutex
	stream  *stream // of the workstation, nil if there is none
	serving bool
	since   time.Time     // since when nobody serves
	changed chan struct{} // closed with the next change
}

func newGate(away time.Duration) *gate {
	return &gate{away: away, since: time.Now(), changed: make(chan struct{})}
}

// enter makes s the workstation's stream, on hold, and returns the one before.
func (g *gate) enter(s *stream) (before *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before = g.stream
	if g.serving {
		g.since = time.Now()
	}
	g.stream, g.serving = s, false
	g.notify()
	return before
}

// leave takes s away. Nobody serves since its last sign of life.
func (g *gate) leave(s *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stream != s {
		return
	}
	if g.serving {
		g.since = s.pulse.last()
	}
	g.stream, g.serving = nil, false
	g.notify()
}

// serve opens the gate for s, or holds it. It returns false if s is not the
// workstation's stream any more.
func (g *gate) serve(s *stream, serving bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stream != s {
		return false
	}
	if g.serving && !serving {
		g.since = time.Now()
	}
	g.serving = serving
	g.notify()
	return true
}

func (g *gate) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// wait returns the stream to open connections on. It waits for one until nobody has
// served for the time that a workstation may be away, and returns nil then.
func (g *gate) wait(ctx context.Context) *stream {
	for {
		g.mu.Lock()
		s, changed, left := g.stream, g.changed, time.Until(g.since.Add(g.away))
		if !g.serving {
			s = nil
		}
		g.mu.Unlock()
		if s != nil || left <= 0 {
			return s
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// current returns the workstation's stream, nil if there is none.
func (g *gate) current() *stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stream
}
