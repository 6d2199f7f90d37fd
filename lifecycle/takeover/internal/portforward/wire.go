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
	// sendBuffer is how much the system may hold that is not sent: a question waits behind it.
	sendBuffer = 256 << 10
	// flushTimeout bounds how long closing waits for that.
	flushTimeout = 2 * time.Second
)

// Wire is a connection whose small writes are put together: a frame is written in several pieces, each of which would be a
// message of its own to the API server. It keeps the pulse of the connection.
type Wire struct {
	net.Conn
	Pulse Pulse

	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	// busy says that a part of what was written is being sent.
	busy bool
	err  error
	done chan struct{}
}

// NewWire takes over the connection.
func NewWire(conn net.Conn) *Wire {
	w := &Wire{Conn: conn, done: make(chan struct{})}
	w.change = sync.NewCond(&w.mu)
	go w.send()
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

// Write implements net.Conn. An error of an earlier write may be returned by a later one.
func (w *Wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.buf) >= pending && w.err == nil {
		w.change.Wait()
	}
	if w.err != nil {
		return 0, w.err
	}
	w.buf = append(w.buf, p...)
	w.change.Broadcast()
	return len(p), nil
}

func (w *Wire) send() {
	defer close(w.done)
	var chunk []byte
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.buf) == 0 && w.err == nil {
			w.change.Wait()
		}
		if w.err != nil {
			return
		}
		chunk, w.buf, w.busy = w.buf, chunk[:0], true
		w.mu.Unlock()
		_, err := w.Conn.Write(chunk)
		w.Pulse.Sent(len(chunk))
		w.mu.Lock()
		w.busy = false
		if err != nil && w.err == nil {
			w.err = err
		}
		w.change.Broadcast()
	}
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
	<-w.done
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
