package relay

import (
	"bufio"
	"net"
	"sync"
	"time"
)

const (
	// maxIdleBuffer is what a transport keeps of a buffer that is empty.
	maxIdleBuffer = 1 << 20
	// closeTimeout is how long a Close waits for what was written.
	closeTimeout = time.Second
	// readBuffer is what is read at once: SSH itself reads every packet in pieces.
	readBuffer = 128 << 10
)

// Transport returns conn for use as a stream's transport: a Write never waits for
// the other end, and writes that come while one is under way go out together. Memory
// is bounded by what Relays keep under way. Close waits a second at most until what
// was written has gone out. An error of conn is returned by the writes after it.
func Transport(conn net.Conn) net.Conn {
	t := &transport{Conn: conn, reader: bufio.NewReaderSize(conn, readBuffer), done: make(chan struct{})}
	t.changed.L = &t.mu
	go t.send()
	return t
}

type transport struct {
	net.Conn
	reader  *bufio.Reader
	mu      sync.Mutex
	changed sync.Cond
	buffer  []byte
	err     error         // of the first write that failed, or net.ErrClosed
	done    chan struct{} // closed when nothing is sent any more
}

func (t *transport) Read(p []byte) (int, error) { return t.reader.Read(p) }

func (t *transport) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return 0, t.err
	}
	t.buffer = append(t.buffer, p...)
	t.changed.Signal()
	return len(p), nil
}

func (t *transport) Close() error {
	t.fail(net.ErrClosed)
	late := time.AfterFunc(closeTimeout, func() { t.Conn.Close() })
	<-t.done
	late.Stop()
	return t.Conn.Close()
}

func (t *transport) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.changed.Signal()
}

func (t *transport) send() {
	defer close(t.done)
	var sent []byte
	for {
		if cap(sent) > maxIdleBuffer {
			sent = nil
		}
		t.mu.Lock()
		for len(t.buffer) == 0 && t.err == nil {
			t.changed.Wait()
		}
		sent, t.buffer = t.buffer, sent[:0]
		t.mu.Unlock()
		if len(sent) == 0 {
			return
		}
		if _, err := t.Conn.Write(sent); err != nil {
			t.fail(err)
			t.Conn.Close()
			return
		}
	}
}
