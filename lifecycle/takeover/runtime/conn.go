package runtime

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// mode is what a connection is known to carry.
type mode int

const (
	unknown mode = iota // nothing has come yet
	asHTTP              // HTTP/1
	asHTTP2             // HTTP/2 without TLS
	opaque              // anything else
)

// conn is a connection to whichever process serves. Its bytes go through unchanged.
// Of HTTP/1 it knows where messages begin and end: between two requests the process
// may go and another take its place, and a request begins only when the gate lets it
// pass. So a kept-alive connection lives longer than a process, and no request gets
// lost at the end of one. One of HTTP/2 is that of one process, and before that ends its
// caller is told to go elsewhere and gets all answers. Anything else is connected to one
// process and ends with it.
//
// One goroutine reads while another one writes: a request waits for the answer to the
// one before to be read.
type conn struct {
	gate *gate
	port uint16
	ctx  context.Context
	stop context.CancelFunc

	// Of the goroutine that writes.
	opening []byte // the first bytes, until they tell the mode
	request message
	discard bool // the process takes no more of the request

	// Of the goroutine that reads.
	response message

	mu         sync.Mutex
	mode       mode
	up         *net.TCPConn // to the process; nil between two requests, if it closed it
	used       bool         // up has carried a request
	bound      bool         // bytes went that no other process has seen
	http2      *http2       // nil unless that is the mode
	counted    bool         // the gate waits for its end
	late       *time.Timer  // to an answer that it has to go
	generation int          // of the process
	exchange   *exchange    // the request under way
	retries    int          // how often a process ended it before anything came
	half       bool         // no more will be written
	last       bool         // the process's end is the connection's
	closed     bool
	wake       chan struct{} // closed when any of these changes
}

var _ net.Conn = (*conn)(nil)

func (g *gate) connect(ctx context.Context, lifetime context.Context, port uint16) (*conn, error) {
	c := &conn{gate: g, port: port, wake: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(lifetime)
	if err := c.attach(ctx, false); err != nil {
		c.stop()
		return nil, err
	}
	if !g.add(c) {
		return nil, errors.Join(notServing(errors.New("it has been stopped")), c.Close())
	}
	return c, nil
}

// attach connects to the process that serves, unless it is. A request is counted.
func (c *conn) attach(ctx context.Context, request bool) error {
	for {
		if c.attached(0) {
			return nil
		}
		generation, err := c.gate.pass(ctx, c.port, request)
		if err != nil {
			return err
		}
		if c.attached(generation) {
			return nil
		}
		up, err := c.gate.dial(ctx, c.port, generation)
		if up != nil {
			if err := c.replace(up, generation); err != nil {
				c.uncount(request)
				return err
			}
			return nil
		}
		c.uncount(request)
		if err != nil {
			return err
		}
	}
}

// attached says whether it is connected to the process of a generation, or for good.
func (c *conn) attached(generation int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up != nil && (c.generation == generation || c.mode != asHTTP && (c.bound || c.last))
}

func (c *conn) uncount(request bool) {
	if request {
		c.gate.done()
	}
}

func (c *conn) replace(up *net.TCPConn, generation int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = up.Close()
		return net.ErrClosed
	}
	if c.up != nil && (c.generation == generation || c.mode != asHTTP && c.bound) {
		return up.Close() // the other goroutine was faster
	}
	if c.up != nil {
		_ = c.up.Close()
	}
	c.up, c.used, c.generation = up, false, generation
	if c.half && !c.repeating() {
		_ = up.CloseWrite()
	}
	c.changed()
	return nil
}

// detach closes the connection to the process. The lock is held.
func (c *conn) detach() {
	_ = c.up.Close()
	c.up = nil
}

// changed wakes up who waits. The lock is held.
func (c *conn) changed() {
	close(c.wake)
	c.wake = make(chan struct{})
}

// CloseWrite says that no more will be written.
func (c *conn) CloseWrite() error {
	if len(c.opening)+len(c.request.line)+len(c.request.head) > 0 && (c.request.part == inHead) {
		c.passOn()
		if err := c.sendOpaque(nil); err != nil {
			return err
		}
	}
	if err := c.endHTTP2(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.half = true
	c.last = c.last || c.exchange == nil
	c.changed()
	if c.up == nil || c.repeating() {
		return nil
	}
	return c.up.CloseWrite()
}

// SetLinger is that of net.TCPConn.
func (c *conn) SetLinger(seconds int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up == nil {
		return nil
	}
	return c.up.SetLinger(seconds)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.forget()
	c.changed()
	if c.up == nil {
		return nil
	}
	return c.up.Close()
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// RemoteAddr implements net.Conn: it is that of the port, and not of a process.
func (c *conn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(c.gate.ports[c.port].local)}
}

// SetDeadline is not supported: whoever waits closes the connection.
func (c *conn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline is not supported.
func (c *conn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline is not supported.
func (c *conn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
