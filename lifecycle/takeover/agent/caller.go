package agent

import (
	"net"
	"time"
)

// caller is an accepted connection, from which some may be read ahead.
type caller struct {
	net.Conn
	ahead []byte // read, and not handed on yet
	err   error  // of the read that came after it
}

// fill reads more ahead, until deadline. It returns false if there is no more, or
// not in time.
func (c *caller) fill(limit int, deadline time.Time) bool {
	if c.err != nil || len(c.ahead) >= limit {
		return false
	}
	c.Conn.SetReadDeadline(deadline)
	defer c.Conn.SetReadDeadline(time.Time{})
	buf := make([]byte, min(limit-len(c.ahead), 1<<10))
	n, err := c.Conn.Read(buf)
	c.ahead = append(c.ahead, buf[:n]...)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		err = nil
	}
	c.err = err
	return n > 0
}

// Read returns what was read ahead, and then what comes.
func (c *caller) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		if len(c.ahead) == 0 {
			c.ahead = nil
		}
		return n, nil
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.Conn.Read(p)
}

// CloseWrite ends what is sent to the caller.
func (c *caller) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetLinger makes a close a reset.
func (c *caller) SetLinger(seconds int) error {
	if tcp, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return tcp.SetLinger(seconds)
	}
	return nil
}
