package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// gate stands before the process. Connections, and requests of HTTP/1 in them, pass
// while a process serves; they wait while it is exchanged; they fail while there is
// none. It is safe for concurrent use.
type gate struct {
	hold time.Duration

	mu         sync.Mutex
	changed    chan struct{} // closed when anything below changes
	generation int
	open       bool
	reason     string // why nobody serves, and nobody is about to
	ports      map[uint16]*served
	active     int
	drained    chan struct{}      // closed when active is 0; nil if nobody waits for that
	leaving    bool               // the process is about to end
	conns      map[*conn]struct{} // nil when all of them were cut off
}

// served is a port of the container.
type served struct {
	local  uint16
	ready  bool // the process listens there
	silent bool // it did not for a while: nobody waits for it
}

func newGate(ports []Port, hold time.Duration) *gate {
	g := &gate{hold: hold, changed: make(chan struct{}), reason: "it has not been started", ports: map[uint16]*served{}, conns: map[*conn]struct{}{}}
	for _, p := range ports {
		g.ports[p.Container] = &served{local: p.Local}
	}
	return g
}

// change changes the gate, and wakes up who waits for that.
func (g *gate) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	close(g.changed)
	g.changed = make(chan struct{})
}

// close has requests wait, for a process that is about to serve.
func (g *gate) close() {
	g.change(func() { g.open, g.reason = false, "" })
}

// fail has requests fail for a reason.
func (g *gate) fail(reason string) {
	g.change(func() { g.open, g.reason = false, reason })
}

// started opens the gate for a process, at each port once it listens there.
func (g *gate) started(generation int) {
	g.change(func() {
		g.open, g.reason, g.generation, g.leaving = true, "", generation, false
		for _, p := range g.ports {
			p.ready, p.silent = false, false
		}
	})
}

// listens says that a process listens at a port of the container, or does not, which
// is not waited for any longer.
func (g *gate) listens(generation int, port uint16, does bool) {
	g.change(func() {
		if g.generation == generation {
			g.ports[port].ready, g.ports[port].silent = does, !does
		}
	})
}

// drain waits until no request is under way, or ctx ends. The gate is closed.
func (g *gate) drain(ctx context.Context) {
	g.mu.Lock()
	g.leaving = true
	conns := slices.Collect(maps.Keys(g.conns))
	g.mu.Unlock()
	for _, c := range conns {
		c.leave()
	}
	g.mu.Lock()
	if g.active == 0 {
		g.mu.Unlock()
		return
	}
	drained := make(chan struct{})
	g.drained = drained
	g.mu.Unlock()
	select {
	case <-drained:
	case <-ctx.Done():
	}
}

// isLeaving says whether the process is about to end.
func (g *gate) isLeaving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaving
}

// count counts something that is under way.
func (g *gate) count() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active++
}

// done ends something that was counted.
func (g *gate) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active--; g.active == 0 && g.drained != nil {
		close(g.drained)
		g.drained = nil
	}
}

// add has a connection be cut off with the others, unless that was done.
func (g *gate) add(c *conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns == nil {
		return false
	}
	g.conns[c] = struct{}{}
	return true
}

// shut fails what waits, and cuts all connections off.
func (g *gate) shut(reason string) {
	g.fail(reason)
	g.mu.Lock()
	conns := g.conns
	g.conns = nil
	g.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// serving says whether requests pass, to which process, and why they never will.
func (g *gate) serving() (generation int, open bool, failed bool, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.generation, g.open, g.reason != "", g.changed
}

// pass waits until a process serves a port, and returns which one does. It is counted
// as a request under way if it is one.
func (g *gate) pass(ctx context.Context, port uint16, request bool) (generation int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.hold, fmt.Errorf("it has not come to serve port %d within %s", port, g.hold))
	defer cancel()
	for {
		generation, changed, err := g.try(port, request)
		if err != nil || generation > 0 {
			return generation, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, notServing(context.Cause(ctx))
		}
	}
}

func (g *gate) try(port uint16, request bool) (generation int, changed <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.ports[port]
	switch {
	case p == nil:
		return 0, nil, notServing(fmt.Errorf("port %d is none that it was given", port))
	case g.reason != "":
		return 0, nil, notServing(errors.New(g.reason))
	case g.open && p.silent:
		return 0, nil, notServing(fmt.Errorf("it does not listen on port %d", p.local))
	case !g.open || !p.ready:
		return 0, g.changed, nil
	}
	if request {
		g.active++
	}
	return g.generation, nil, nil
}

// dial connects to a port of the process of a generation. While that does not listen,
// because it starts anew by itself, it is tried again. It returns nil without an error
// when another process has taken its place.
func (g *gate) dial(ctx context.Context, port uint16, generation int) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.hold)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		conn, err := dialLocal(ctx, g.ports[port].local)
		if err == nil {
			return conn, nil
		}
		now, open, _, changed := g.serving()
		if now != generation || !open {
			return nil, nil
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, notServing(err)
		}
	}
}

// dialLocal connects to a port of either loopback address: what is told to listen on
// "localhost" may choose.
func dialLocal(ctx context.Context, port uint16) (*net.TCPConn, error) {
	var errs []error
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func notServing(err error) error { return fmt.Errorf("%w: %w", ErrNotServing, err) }
