package portforward

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// pending is how much may wait to be sent before a writer does.
	pending = 256 << 10
	// tooMuch waits only where the far end asks without end and takes no answer.
	tooMuch = 4 * pending
	// sendBuffer is how much the system may hold that is not sent: a question waits behind it.
	sendBuffer = 256 << 10
	// flushTimeout bounds how long closing waits for that.
	flushTimeout = 2 * time.Second
)

// Wire is a connection whose frames go out together where they come while others are sent: each write is a message of its own
// to the API server. It keeps the pulse of the connection.
type Wire struct {
	net.Conn
	Pulse Pulse

	mu     sync.Mutex
	change *sync.Cond
	buf    []byte // waits to be sent
	spare  []byte // to wait next
	busy   bool   // somebody sends
	err    error
}

// NewWire takes over the connection.
func NewWire(conn net.Conn) *Wire {
	w := &Wire{Conn: conn}
	w.change = sync.NewCond(&w.mu)
	return w
}

// Read implements net.Conn.
func (w *Wire) Read(p []byte) (int, error) {
	w.Pulse.Listen(time.Now())
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.Pulse.Heard(time.Now())
	}
	return n, err
}

// write sends a frame. It waits while much is to be sent. An error of an earlier one may be returned by a later one.
func (w *Wire) write(frame ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.buf) >= pending && w.err == nil {
		w.change.Wait()
	}
	if !w.append(frame) {
		return w.err
	}
	w.round() // this frame is in it
	w.handOn()
	return w.err
}

// post sends a frame and never waits.
func (w *Wire) post(frame ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf) > tooMuch {
		return ErrLost
	}
	if w.append(frame) {
		w.handOn()
	}
	return w.err
}

// append has a frame wait. It returns whether the caller has to send.
func (w *Wire) append(frame [][]byte) bool {
	if w.err != nil {
		return false
	}
	for _, part := range frame {
		w.buf = append(w.buf, part...)
	}
	first := !w.busy
	w.busy = true
	return first
}

// handOn has a goroutine of its own send what waits, if anything does: whoever wrote first has something else to do.
func (w *Wire) handOn() {
	if len(w.buf) == 0 || w.err != nil {
		w.busy = false
		w.change.Broadcast()
		return
	}
	go func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for len(w.buf) > 0 && w.err == nil {
			w.round()
		}
		w.busy = false
		w.change.Broadcast()
	}()
}

// round sends what waits now. It is called with the lock, and gives it away.
func (w *Wire) round() {
	chunk := w.buf
	w.buf, w.spare = w.spare[:0], nil
	w.mu.Unlock()
	_, err := w.Conn.Write(chunk)
	w.Pulse.Sent(len(chunk))
	w.mu.Lock()
	w.spare = chunk
	if err != nil && w.err == nil {
		w.err = err
	}
	w.change.Broadcast()
}

// Close sends what was written, for two seconds at most, and closes the connection.
func (w *Wire) Close() error {
	late := time.AfterFunc(flushTimeout, func() { w.fail(os.ErrDeadlineExceeded) })
	defer late.Stop()
	w.mu.Lock()
	for (len(w.buf) > 0 || w.busy) && w.err == nil {
		w.change.Wait()
	}
	w.mu.Unlock()
	return w.Abort()
}

// Abort closes the connection at once.
func (w *Wire) Abort() error {
	first := w.fail(net.ErrClosed)
	err := w.Conn.Close()
	w.mu.Lock()
	for w.busy {
		w.change.Wait()
	}
	w.mu.Unlock()
	if !first || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// fail ends all writes, and reports whether nothing else has before.
func (w *Wire) fail(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.err == nil
	if first {
		w.err = err
	}
	w.change.Broadcast()
	return first
}

// boundBuffer bounds what the system holds of what is written to a connection.
func boundBuffer(c net.Conn) {
	for {
		switch over := c.(type) {
		case *net.TCPConn:
			_ = over.SetWriteBuffer(sendBuffer) // it would do without
			return
		case interface{ NetConn() net.Conn }:
			c = over.NetConn()
		default:
			return
		}
	}
}
