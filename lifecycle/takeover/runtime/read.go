package runtime

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if n := c.said(p); n > 0 {
			return n, nil
		}
		up, err := c.upstream()
		if err != nil {
			return 0, err
		}
		n, err := up.Read(c.room(p))
		if n > 0 {
			c.arrived(p[:n])
			return n, nil
		}
		if err == nil {
			return 0, nil
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.woken()
			continue
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
	if c.follow(p) && c.gate.isLeaving() {
		c.leave()
	}
}

// follow says whether it is HTTP/2.
func (c *conn) follow(p []byte) (isHTTP2 bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode == unknown { // it speaks first
		if c.mode = opaque; opensHTTP2(p) {
			c.mode, c.http2 = asHTTP2, newHTTP2()
		}
	}
	c.bound = true
	if c.mode == asHTTP2 {
		c.http2.fromProcess(p)
		c.settle()
		return true
	}
	for len(p) > 0 && c.mode == asHTTP {
		x := c.exchange
		if x == nil {
			c.opaque()
			return false
		}
		x.answered = true
		n, err := c.response.next(p)
		if err == nil && c.response.part == headEnds {
			err = c.head(x)
		}
		if err != nil {
			c.opaque()
			return false
		}
		p = p[n:]
		if c.response.part == complete {
			c.response = message{}
			x.received = true
			c.finish()
		}
	}
	return false
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
	case c.mode != asHTTP && !c.bound && !c.half && c.retries < repeats:
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
