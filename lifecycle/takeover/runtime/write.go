package runtime

import (
	"errors"
	"net"
)

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	mode := c.mode
	c.mu.Unlock()
	rest := p
	if mode == unknown {
		c.opening, rest = append(c.opening, p...), nil
		speaks, sure := speaks(c.opening)
		if !sure {
			return len(p), nil
		}
		mode = c.decide(speaks)
	}
	if (mode == asHTTP || mode == asHTTP2) && c.opening != nil {
		rest, c.opening = append(c.opening, rest...), nil
	}
	if mode == asHTTP2 {
		if err := c.writeHTTP2(rest); err != nil {
			return 0, err
		}
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

// speaks says what a connection carries that begins so. It is not sure as long as more
// may follow.
func speaks(p []byte) (m mode, sure bool) {
	if n := min(len(p), len(preface)); string(p[:n]) == preface[:n] {
		return asHTTP2, n == len(preface)
	}
	is, sure := opens(p)
	if is {
		return asHTTP, sure
	}
	return opaque, sure
}

// decide says what the connection carries, unless that is known by now.
func (c *conn) decide(m mode) mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode == unknown {
		c.mode = m
		if m == asHTTP2 {
			c.http2 = newHTTP2()
		}
	}
	return c.mode
}

// send writes to the process.
func (c *conn) send(p []byte) error {
	c.mu.Lock()
	up, closed := c.up, c.closed
	c.bound = true
	c.mu.Unlock()
	if up == nil || closed {
		return net.ErrClosed
	}
	_, err := up.Write(p)
	return err
}

// passOn passes on from now on whatever comes.
func (c *conn) passOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opaque()
}

// opaque is passOn with the lock held.
func (c *conn) opaque() {
	c.mode, c.bound = opaque, true
	c.forget()
	c.changed()
}
