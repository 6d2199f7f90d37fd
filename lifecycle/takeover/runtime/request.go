package runtime

import (
	"net"
	"net/http"
)

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
