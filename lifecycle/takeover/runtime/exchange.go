package runtime

import "time"

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

// forget has the gate wait no longer for what is under way. The lock is held.
func (c *conn) forget() {
	if c.counted {
		c.counted = false
		c.late.Stop()
		c.gate.done()
	}
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
