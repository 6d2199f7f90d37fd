package runtime

import "time"

// unheard is how long a caller of HTTP/2 may take to say that it has heard that it is to
// go elsewhere.
const unheard = time.Second

// writeHTTP2 passes on what a caller of HTTP/2 sends.
func (c *conn) writeHTTP2(p []byte) error {
	c.mu.Lock()
	bound := c.bound
	c.mu.Unlock()
	if !bound {
		if err := c.attach(c.ctx, false); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.http2.sealed {
		c.mu.Unlock()
		return nil // it was told to make it elsewhere
	}
	p, err := c.http2.fromCaller(p)
	if err != nil {
		c.opaque()
	} else {
		c.settle()
	}
	c.mu.Unlock()
	if len(p) == 0 {
		return nil
	}
	return c.send(p)
}

// endHTTP2 passes on what is held of a frame that does not come to its end.
func (c *conn) endHTTP2() error {
	c.mu.Lock()
	var rest []byte
	if h := c.http2; c.mode == asHTTP2 && !h.sealed {
		rest, h.held = h.held, nil
	}
	c.mu.Unlock()
	if len(rest) == 0 {
		return nil
	}
	return c.send(rest)
}

// leave has a caller of HTTP/2 make its next requests on another connection, for which
// another process may serve. The gate waits until those that are under way have their
// answers.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode != asHTTP2 || !c.bound || c.http2.leaving || c.up == nil || c.last || c.closed {
		return
	}
	c.http2.leave()
	c.gate.count()
	c.counted = true
	c.late = time.AfterFunc(unheard, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.http2.answered = true
		c.settle()
	})
	c.wakeReader()
}

// settle has the caller told when the process gets nothing more. The lock is held.
func (c *conn) settle() {
	if c.http2.seal() {
		c.wakeReader()
	}
}

// wakeReader has the goroutine that reads look what is to be said. The lock is held.
func (c *conn) wakeReader() {
	if c.up != nil {
		_ = c.up.SetReadDeadline(time.Unix(1, 0))
	}
	c.changed()
}

// woken undoes that.
func (c *conn) woken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up != nil {
		_ = c.up.SetReadDeadline(time.Time{})
	}
}

// said reads what is to be said to the caller, if this is the place for it. After the
// last of it the connection to the process is closed.
func (c *conn) said(p []byte) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode != asHTTP2 || len(c.http2.say) == 0 || !c.http2.boundary() || c.closed {
		return 0
	}
	n = copy(p, c.http2.say)
	c.http2.say = c.http2.say[n:]
	if c.http2.sealed && len(c.http2.say) == 0 {
		c.last = true
		if c.up != nil {
			c.detach()
		}
		c.forget()
		c.changed()
	}
	return n
}

// room is what may be read into: no more than a frame, if something is to be said after
// it.
func (c *conn) room(p []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode != asHTTP2 || len(c.http2.say) == 0 {
		return p
	}
	return p[:min(len(p), c.http2.toBoundary())]
}
