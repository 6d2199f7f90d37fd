package agent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// maxCallers is how many connections are accepted at once, and maxOpen how many
	// of them are joined with the workstation: more wait, so that memory is bounded.
	maxCallers = 4096
	maxOpen    = 2048

	// retryFirst and retryMost are how long a connection waits before it is offered
	// again to a process that was down.
	retryFirst = 20 * time.Millisecond
	retryMost  = 500 * time.Millisecond
)

// callers serves the container's ports.
type callers struct {
	session wire.Session
	gate    *gate
	down    *down
	relay   *relay.Relay
	log     *slog.Logger

	accepted chan struct{} // one for each caller
	open     chan struct{} // one for each that is joined
	leaving  atomic.Bool

	mu    sync.Mutex
	conns map[*followed]struct{}
	group sync.WaitGroup
}

func newCallers(session wire.Session, g *gate, log *slog.Logger) *callers {
	return &callers{
		session: session, gate: g, log: log, down: newDown(time.Duration(session.Away)), relay: relay.New(relay.Config{}),
		accepted: make(chan struct{}, maxCallers), open: make(chan struct{}, maxOpen),
		conns: make(map[*followed]struct{}),
	}
}

// serve accepts the callers of a port until listener is closed. They may go on after
// that: wait waits for them.
func (c *callers) serve(ctx context.Context, listener net.Listener, port wire.Port) {
	accept(ctx, listener, c.log, func(conn net.Conn) {
		select {
		case c.accepted <- struct{}{}:
		case <-ctx.Done():
			conn.Close()
			return
		}
		f := follow(&caller{Conn: conn}, &c.leaving)
		c.mu.Lock()
		c.conns[f] = struct{}{}
		c.mu.Unlock()
		c.group.Go(func() {
			defer func() { <-c.accepted }()
			c.call(ctx, f, port)
			c.mu.Lock()
			delete(c.conns, f)
			c.mu.Unlock()
		})
	})
}

// call serves one caller to the end.
func (c *callers) call(ctx context.Context, f *followed, port wire.Port) {
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { relay.Reset(f.caller) })
	defer stop()
	greeted := false
	switch sniff(f.caller, port) {
	case answered:
		return
	case terminated:
		greeted = true
		f.terminated()
	}
	select {
	case c.open <- struct{}{}:
		defer func() { <-c.open }()
	case <-ctx.Done():
		return
	}
	for delay := retryFirst; ; {
		s := c.gate.wait(ctx)
		if s == nil {
			refuse(f.caller, unserved(c.session), greeted)
			return
		}
		channel, requests, err := s.open(port.Number, f.RemoteAddr().String())
		if err != nil {
			if !c.again(ctx, err, port.Number, delay) {
				refuse(f.caller, unserved(c.session), greeted)
				return
			}
			delay = min(2*delay, retryMost)
			continue
		}
		c.down.up(port.Number)
		f.join()
		result, err := c.relay.Join(relay.Pair{Conn: f, Channel: channel, Requests: requests, KeepUnanswered: true})
		if !result.Kept || !errors.Is(err, relay.ErrCut) {
			return
		}
		if f.touched.Load() {
			c.apologize(f)
			return
		}
	}
}

// again says whether a connection that was not taken is to be offered again, after
// a pause: the stream may have broken, or the process is down for a while.
func (c *callers) again(ctx context.Context, err error, port uint16, d time.Duration) bool {
	var rejected *ssh.OpenChannelError
	if errors.As(err, &rejected) && !c.down.wait(port) {
		return false
	}
	pause(ctx, d)
	return ctx.Err() == nil
}

// apologize answers a caller whose request was under way when the stream broke, and
// who has not got a byte of its answer.
func (c *callers) apologize(f *followed) {
	if f.http1 != nil {
		if method := f.http1.waiting(); method != "" {
			refuseHTTP1(f.caller, method, unserved(c.session))
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
