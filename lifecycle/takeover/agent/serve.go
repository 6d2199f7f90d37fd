package agent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// maxCallers is how many connections are open to the process or wait for it, and
	// maxLobby how many more may be there: memory is bounded by both.
	maxCallers = 2048
	maxLobby   = 256
)

// callers serves the container's ports.
type callers struct {
	session wire.Session
	away    time.Duration
	gate    *gate
	down    *down
	relay   *relay.Relay
	refuser *refuser
	log     *slog.Logger

	lobby   lobby
	places  chan struct{} // one for each caller who has one
	leaving atomic.Bool
	parked  context.Context // ends when nobody may wait any more
	release context.CancelFunc

	mu    sync.Mutex
	conns map[*followed]struct{}
	group sync.WaitGroup
}

func newCallers(session wire.Session, g *gate, log *slog.Logger) *callers {
	away := time.Duration(session.Away)
	c := &callers{
		session: session, away: away, gate: g, log: log, down: newDown(away), relay: relay.New(), refuser: newRefuser(),
		places: make(chan struct{}, maxCallers), conns: make(map[*followed]struct{}),
	}
	c.lobby = lobby{most: maxLobby, free: func() int { return cap(c.places) - len(c.places) }}
	c.parked, c.release = context.WithCancel(context.Background())
	return c
}

// serve accepts the callers of a port until listener is closed. They may go on after
// that: wait waits for them. It always accepts: one of them may be a probe.
func (c *callers) serve(ctx context.Context, listener net.Listener, port wire.Port) {
	accept(ctx, listener, c.log, func(conn net.Conn) {
		f := follow(&caller{Conn: bulk.Direct(conn)}, &c.leaving)
		c.mu.Lock()
		c.conns[f] = struct{}{}
		c.mu.Unlock()
		inside, leave := c.lobby.enter(c.parked)
		c.group.Go(func() {
			c.call(ctx, f, port, inside, leave)
			c.mu.Lock()
			delete(c.conns, f)
			c.mu.Unlock()
		})
	})
}

// call serves one caller to the end. It is in the lobby, until it leaves.
func (c *callers) call(ctx context.Context, f *followed, port wire.Port, inside context.Context, leave func()) {
	defer f.Close()
	defer leave()
	stop := context.AfterFunc(ctx, func() { relay.Reset(f.caller) })
	defer stop()
	wait := patience{left: c.away, delay: retryFirst}
	if !c.admit(f, port, inside, &wait) {
		return
	}
	defer func() { <-c.places }()
	leave()
	for {
		channel := c.offer(ctx, f, port.Number, &wait)
		if channel == nil {
			return
		}
		c.down.up(port.Number)
		f.join()
		joined := time.Now()
		result, err := c.relay.Join(relay.Pair{Conn: f, Channel: channel, KeepUnanswered: true})
		if !result.Kept || !errors.Is(err, relay.ErrCut) {
			return
		}
		if f.touched.Load() {
			c.apologize(f)
			return
		}
		wait.served(time.Since(joined))
	}
}

// admit answers a probe, and gets a place for anybody else. It returns false if the
// caller was answered.
func (c *callers) admit(f *followed, port wire.Port, inside context.Context, wait *patience) bool {
	keep := context.AfterFunc(inside, func() {
		if c.parked.Err() == nil {
			f.caller.Conn.Close() // others need its place in the lobby
		}
	})
	defer keep()
	switch sniff(f.caller, port) {
	case answered:
		return false
	case terminated:
		f.terminated()
	}
	select {
	case c.places <- struct{}{}:
		return true
	default:
	}
	waiting, met := wait.begin(inside)
	defer met()
	keep()
	select {
	case c.places <- struct{}{}:
		return true
	case <-waiting.Done():
		turnAway(f.caller, crowded(c.session))
		return false
	}
}

// offer offers a connection until the workstation takes it, and returns nil once the
// caller was refused, having waited for long enough. It returns only when the
// workstation has answered for it, so that its place is taken for as long.
func (c *callers) offer(ctx context.Context, f *followed, port uint16, wait *patience) *relay.Channel {
	waiting, met := wait.begin(c.parked)
	defer met()
	if wait.again {
		wait.pause(waiting)
	}
	late, cancel := context.WithTimeout(ctx, wait.left)
	defer cancel()
	for {
		s := c.gate.wait(waiting)
		if s == nil {
			break
		}
		offered := time.Now()
		// It is waited for also when nobody may wait any more: it is on its way.
		refused := make(chan struct{})
		stop := context.AfterFunc(late, func() {
			defer close(refused)
			c.down.wait(port, offered)
			c.refuser.refuse(f.caller, unserved(c.session), f.greeted)
		})
		channel, err := s.Open(wire.Connection{Port: port, Peer: f.RemoteAddr().String()})
		if !stop() {
			<-refused
			if err == nil {
				channel.Close()
			}
			return nil
		}
		if err == nil {
			return channel
		}
		if errors.Is(err, relay.Rejected{Reason: wire.ReasonProcess}) && !c.down.wait(port, offered) {
			break
		}
		if wait.pause(waiting); waiting.Err() != nil {
			break
		}
	}
	c.refuser.refuse(f.caller, unserved(c.session), f.greeted)
	return nil
}

// apologize answers a caller whose request was under way when the stream broke, and
// who has not got a byte of its answer.
func (c *callers) apologize(f *followed) {
	if f.http1 != nil {
		if waits, head := f.http1.waiting(); waits {
			refuseHTTP1(f.caller, head, interrupted(c.session))
			return
		}
	}
	relay.Reset(f.caller)
}

// leave has callers go elsewhere with their next request.
func (c *callers) leave() {
	c.leaving.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.conns {
		go f.leave()
	}
}

// closeIdle ends the connections on which nothing is under way.
func (c *callers) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.conns {
		if f.idle() {
			f.caller.Close()
		}
	}
}

// wait waits for all callers.
func (c *callers) wait() { c.group.Wait() }
