package agent

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
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
	buf := make([]byte, min(limit-len(c.ahead), 2<<10))
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

// followed is a caller whose protocol is followed as far as it is known, so that
// the agent can leave without cutting anything off.
type followed struct {
	*caller
	leaving *atomic.Bool
	touched atomic.Bool // a byte went either way, or is about to
	joined  atomic.Bool

	first []byte // the first bytes from the caller, until they say what it speaks
	http1 *http1

	in http2Caller

	writing sync.Mutex
	http2   bool
	out     http2Process
}

func follow(c *caller, leaving *atomic.Bool) *followed {
	return &followed{caller: c, leaving: leaving}
}

// terminated says that the agent has answered the preface of HTTP/2 for the
// process, so that what is read from now on is frames. The preface is handed on.
func (f *followed) terminated() {
	f.http2 = true
	f.in = http2Caller{frames: frames{left: len(preface)}, drop: true}
	f.out.any = true
}

// Read hands on what the caller sends.
func (f *followed) Read(p []byte) (int, error) {
	for {
		n, err := f.caller.Read(p[:max(1, len(p)-frameHead)])
		if n > 0 {
			f.touched.Store(true)
		}
		kept := f.fromCaller(p[:n])
		n = copy(p, kept)
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (f *followed) fromCaller(p []byte) []byte {
	switch {
	case f.http1 != nil:
		f.http1.fromCaller(p)
	case f.in.drop:
		return f.in.fromCaller(p)
	case !f.http2:
		f.first = append(f.first, p...)
		if len(f.first) < len(preface) && strings.HasPrefix(preface, string(f.first)) {
			break
		}
		f.writing.Lock()
		if strings.HasPrefix(string(f.first), preface) {
			f.http2 = true
		} else {
			f.http1 = newHTTP1(f.leaving)
			f.http1.fromCaller(f.first)
		}
		f.writing.Unlock()
		f.first = nil
	}
	return p
}

// Write sends what the process answers.
func (f *followed) Write(p []byte) (int, error) {
	f.touched.Store(true)
	f.writing.Lock()
	defer f.writing.Unlock()
	out := p
	switch {
	case f.http1 != nil:
		out = f.http1.toCaller(p)
	case f.http2:
		out = f.out.toCaller(p, f.leaving.Load())
	}
	if _, err := f.caller.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite ends what is sent to the caller.
func (f *followed) CloseWrite() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.http1 != nil {
		if rest := f.http1.rest(); len(rest) > 0 {
			if _, err := f.caller.Write(rest); err != nil {
				return err
			}
		}
	}
	return f.caller.CloseWrite()
}

// leave has a caller that speaks HTTP/2 open its next stream elsewhere. One that
// speaks HTTP/1 is told with its next answer.
func (f *followed) leave() {
	f.writing.Lock()
	defer f.writing.Unlock()
	if !f.http2 {
		return
	}
	if out := f.out.toCaller(nil, true); len(out) > 0 {
		f.caller.Write(out)
	}
}

// join says that the caller is about to be joined with the workstation.
func (f *followed) join() {
	if len(f.ahead) > 0 {
		f.touched.Store(true)
	}
	f.joined.Store(true)
}

// idle says that nothing is under way: no byte came, or all requests were answered.
func (f *followed) idle() bool {
	if !f.joined.Load() {
		return false
	}
	if !f.touched.Load() {
		return true
	}
	if !f.writing.TryLock() {
		return false // something is just sent
	}
	defer f.writing.Unlock()
	return f.http1 != nil && f.http1.idle()
}
