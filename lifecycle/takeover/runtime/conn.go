package runtime

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// mode is what a connection is known to carry.
type mode int

const (
	unknown mode = iota // nothing has come yet
	asHTTP              // HTTP/1
	opaque              // anything else
)

// conn is a connection to whichever process serves. Its bytes go through unchanged.
// Of HTTP/1 it knows where messages begin and end: between two requests the process
// may go and another take its place, and a request begins only when the gate lets it
// pass. So a kept-alive connection lives longer than a process, and no request gets
// lost at the end of one. Anything else is connected to one process and ends with it.
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
	generation int          // of the process
	exchange   *exchange    // the request under way
	retries    int          // how often a process ended it before anything came
	half       bool         // no more will be written
	last       bool         // the process's end is the connection's
	closed     bool
	wake       chan struct{} // closed when any of these changes
}

// exchange is a request and its response.
type exchange struct {
	method         string
	again          []byte // the request, if it may be made again
	repeated       int    // how often it was
	sent, received bool
	answered       bool // a byte of the response has come
	counted        bool // the gate waits for its end
	repeating      bool // it is about to be written once more
}

var _ net.Conn = (*conn)(nil)

func (g *gate) connect(ctx context.Context, lifetime context.Context, port uint16) (*conn, error) {
	c := &conn{gate: g, port: port, wake: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(lifetime)
	if err := c.attach(ctx, false); err != nil {
		c.stop()
		return nil, err
	}
	g.mu.Lock()
	g.conns[c] = struct{}{}
	g.mu.Unlock()
	return c, nil
}

// attach connects to the process that serves, unless it is. A request is counted.
func (c *conn) attach(ctx context.Context, request bool) error {
	for {
		generation, err := c.gate.pass(ctx, c.port, request)
		if err != nil {
			return err
		}
		c.mu.Lock()
		attached := c.up != nil && (c.generation == generation || c.last)
		c.mu.Unlock()
		if attached {
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
	if c.up != nil && c.generation == generation {
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

// changed wakes up who waits. The lock is held.
func (c *conn) changed() {
	close(c.wake)
	c.wake = make(chan struct{})
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	mode := c.mode
	c.mu.Unlock()
	rest := p
	if mode == unknown {
		c.opening, rest = append(c.opening, p...), nil
		is, sure := opens(c.opening)
		if !sure {
			return len(p), nil
		}
		mode = c.decide(is)
	}
	if mode == asHTTP && c.opening != nil {
		rest, c.opening = c.opening, nil
	}
	for mode == asHTTP && len(rest) > 0 {
		var err error
		if rest, err = c.writeHTTP(rest); errors.Is(err, errNotHTTP) {
			c.passOn()
			mode = opaque
		} else if err != nil {
			return 0, err
		}
	}
	if mode == opaque {
		if err := c.sendOpaque(rest); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// sendOpaque sends what was kept to tell what it is, and more.
func (c *conn) sendOpaque(p []byte) error {
	kept := c.kept()
	if len(kept) == 0 {
		return c.send(p)
	}
	if err := c.attach(c.ctx, false); err != nil {
		return err
	}
	return c.send(append(kept, p...))
}

// kept takes the bytes that were written and not sent yet.
func (c *conn) kept() []byte {
	kept := c.opening
	if c.request.part == inHead || c.request.part == headEnds {
		kept = append(append(kept, c.request.head...), c.request.line...)
	}
	c.opening, c.request = nil, message{}
	return kept
}

// decide says what the connection carries, unless that is known by now.
func (c *conn) decide(http bool) mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode == unknown {
		c.mode = opaque
		if http {
			c.mode = asHTTP
		}
	}
	return c.mode
}

// send writes to the process.
func (c *conn) send(p []byte) error {
	c.mu.Lock()
	up, closed := c.up, c.closed
	c.mu.Unlock()
	if up == nil || closed {
		return net.ErrClosed
	}
	_, err := up.Write(p)
	return err
}

// writeHTTP writes up to the end of a head, or of a request, and returns what is left.
func (c *conn) writeHTTP(p []byte) (rest []byte, err error) {
	inHead := c.request.part == inHead
	if inHead && len(c.request.head)+len(c.request.line) == 0 {
		if err := c.turn(); err != nil {
			return p, err
		}
	}
	n, err := c.request.next(p)
	switch {
	case inHead && err == nil && c.request.part == headEnds:
		err = c.begin()
	case !inHead && !c.discard:
		// If the process takes no more, it may have answered, and that comes first.
		c.discard = c.send(p[:n]) != nil
	}
	if err != nil {
		return p[n:], err
	}
	if c.request.part == complete {
		c.request, c.discard = message{}, false
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.exchange != nil {
			c.exchange.sent = true
			c.finish()
		}
	}
	return p[n:], nil
}

// begin sends the head of a request once its turn has come.
func (c *conn) begin() error {
	end := c.request // as it is if this is no request
	r, err := c.request.request()
	if err != nil {
		c.request = end
		return err
	}
	x := &exchange{method: r.Method, counted: true}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		if c.request.part == complete && r.Header.Get("Upgrade") == "" {
			x.again = c.request.head
		}
	}
	if x.again == nil {
		c.renew()
	}
	for {
		if err := c.attach(c.ctx, true); err != nil {
			return err
		}
		c.mu.Lock()
		if closed := c.closed; closed || c.mode != asHTTP {
			c.mu.Unlock()
			c.gate.done()
			if closed {
				return net.ErrClosed
			}
			c.request = end
			return errNotHTTP // any more
		}
		if up := c.up; up != nil {
			c.exchange, c.used = x, true
			c.changed()
			c.mu.Unlock()
			_, err := up.Write(c.request.head)
			c.discard = err != nil // whoever reads sees what becomes of it
			return nil
		}
		c.mu.Unlock() // the process has just closed it
		c.gate.done()
	}
}

// renew has a request go by a connection that was not used. The process may be about to
// close one that was, and nobody could tell whether it has seen the request.
func (c *conn) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used && c.up != nil {
		c.detach()
	}
}

// turn waits for the end of the request before.
func (c *conn) turn() error {
	for {
		c.mu.Lock()
		wake := c.wake
		switch {
		case c.closed || c.last:
			c.mu.Unlock()
			return net.ErrClosed
		case c.mode != asHTTP:
			c.mu.Unlock()
			return errNotHTTP // any more
		case c.exchange == nil:
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		select {
		case <-wake:
		case <-c.ctx.Done():
			return net.ErrClosed
		}
	}
}

// passOn passes on from now on whatever comes.
func (c *conn) passOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opaque()
}

// opaque is passOn with the lock held.
func (c *conn) opaque() {
	c.mode = opaque
	c.forget()
	c.changed()
}

// forget ends the exchange. The lock is held.
func (c *conn) forget() {
	if c.exchange != nil && c.exchange.counted {
		c.gate.done()
	}
	c.exchange = nil
}

// finish ends the exchange if it is complete. The lock is held.
func (c *conn) finish() {
	if c.exchange != nil && c.exchange.sent && c.exchange.received {
		c.forget()
		c.last = c.last || c.half // no other one comes
		c.changed()
	}
}

// repeating says whether a request is yet to be written once more. The lock is held.
func (c *conn) repeating() bool { return c.exchange != nil && c.exchange.repeating }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	for {
		up, err := c.upstream()
		if err != nil {
			return 0, err
		}
		n, err := up.Read(p)
		if n > 0 {
			c.arrived(p[:n])
			return n, nil
		}
		if err == nil {
			return 0, nil
		}
		if again, err := c.lost(up, err); !again {
			return 0, err
		}
	}
}

// upstream is the connection to a process. Between two requests it waits for one.
func (c *conn) upstream() (*net.TCPConn, error) {
	c.mu.Lock()
	up := c.up
	c.mu.Unlock()
	if up != nil {
		return up, nil
	}
	for {
		_, open, failed, changed := c.gate.serving()
		c.mu.Lock()
		up, closed, last, mode, retries, wake := c.up, c.closed, c.last, c.mode, c.retries, c.wake
		c.mu.Unlock()
		switch {
		case closed:
			return nil, net.ErrClosed
		case up != nil:
			return up, nil
		case last || failed:
			return nil, io.EOF
		}
		var retry <-chan time.Time
		if mode == unknown && open {
			retry = time.After(firstRepeat << retries) // it may be the process that speaks first
		}
		select {
		case <-wake:
		case <-changed:
		case <-retry:
			if err := c.attach(c.ctx, false); err != nil {
				return nil, io.EOF
			}
		case <-c.ctx.Done():
			return nil, net.ErrClosed
		}
	}
}

// arrived follows what the process sends.
func (c *conn) arrived(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode == unknown {
		c.mode = opaque // it speaks first
	}
	for len(p) > 0 && c.mode == asHTTP {
		x := c.exchange
		if x == nil {
			c.opaque()
			return
		}
		x.answered = true
		n, err := c.response.next(p)
		if err == nil && c.response.part == headEnds {
			err = c.head(x)
		}
		if err != nil {
			c.opaque()
			return
		}
		p = p[n:]
		if c.response.part == complete {
			c.response = message{}
			x.received = true
			c.finish()
		}
	}
}

// head reads the head of a response. The lock is held.
func (c *conn) head(x *exchange) error {
	r, err := c.response.response(x.method)
	switch {
	case err != nil:
		return err
	case r.StatusCode == http.StatusSwitchingProtocols || x.method == http.MethodConnect && r.StatusCode/100 == 2:
		return errNotHTTP // any more
	case r.StatusCode < 200:
		c.response = message{} // the response is still to come
		return nil
	}
	c.last = c.last || r.Close
	if x.counted && r.Header.Get("Content-Type") == "text/event-stream" {
		c.gate.done() // it may go on for ever
		x.counted = false
	}
	return nil
}

// lost says what follows the end of the connection to a process.
func (c *conn) lost(up *net.TCPConn, err error) (again bool, _ error) {
	_, open, _, _ := c.gate.serving()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return false, net.ErrClosed
	case c.up != up:
		return true, nil
	}
	x := c.exchange
	switch {
	case c.mode == unknown && !c.half && c.retries < repeats:
		// Another process will take it, or this one when it has started anew.
		if open {
			c.retries++
		}
		c.detach()
		return true, nil
	case c.mode == asHTTP && x == nil && !c.last:
		c.detach()
		return true, nil // between two requests
	case c.mode == asHTTP && x != nil && !x.answered && x.again != nil:
		c.detach()
		if c.repeat(x) {
			return true, nil
		}
		return false, err
	}
	c.last = true
	c.forget()
	c.changed()
	if err != io.EOF { // at which the process may go on reading
		c.detach()
	}
	return false, err
}

// detach closes the connection to the process. The lock is held.
func (c *conn) detach() {
	_ = c.up.Close()
	c.up = nil
}

// repeats is how often a request is made again. With the pauses in between, which
// double, they last longer than a process takes connections that is about to end.
const (
	repeats     = 6
	firstRepeat = 10 * time.Millisecond
)

// repeat makes a request again to which there was no answer, and which changes
// nothing: RFC 9110, 9.2.2. The lock is held.
func (c *conn) repeat(x *exchange) bool {
	head := x.again
	pause := time.NewTimer(firstRepeat << x.repeated)
	defer pause.Stop()
	if x.repeated++; x.repeated == repeats {
		x.again = nil
	}
	c.gate.done()
	x.counted, x.repeating = false, true
	c.mu.Unlock()
	select {
	case <-pause.C:
	case <-c.ctx.Done():
	}
	err := c.attach(c.ctx, true)
	c.mu.Lock()
	if err == nil && c.exchange != x {
		c.gate.done() // it was closed meanwhile
		return false
	}
	up := c.up
	if x.counted = err == nil; err != nil || up == nil {
		c.last = true
		c.forget()
		c.changed()
		return false
	}
	c.used = true
	c.mu.Unlock()
	_, _ = up.Write(head) // reading tells whether it failed
	c.mu.Lock()
	if x.repeating = false; c.half {
		_ = up.CloseWrite()
	}
	return true
}

// CloseWrite says that no more will be written.
func (c *conn) CloseWrite() error {
	if len(c.opening)+len(c.request.line)+len(c.request.head) > 0 && (c.request.part == inHead) {
		c.passOn()
		if err := c.sendOpaque(nil); err != nil {
			return err
		}
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
