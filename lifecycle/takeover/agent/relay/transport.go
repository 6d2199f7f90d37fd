package relay

import (
	"bufio"
	"net"
	"sync"
	"time"
)

const (
	// chunk is what is written at once, if there is as much: what waits is kept in
	// pieces, so that it takes no more memory than there is of it.
	chunk = 128 << 10
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
	queue   [][]byte      // chunks that wait, of which all but the last are full
	spare   []byte        // a chunk to fill next
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
	for rest := p; len(rest) > 0; {
		last := len(t.queue) - 1
		if last < 0 || len(t.queue[last]) == chunk {
			t.queue = append(t.queue, t.next())
			last++
		}
		n := min(len(rest), chunk-len(t.queue[last]))
		t.queue[last] = append(t.queue[last], rest[:n]...)
		rest = rest[n:]
	}
	t.changed.Signal()
	return len(p), nil
}

// next returns an empty chunk.
func (t *transport) next() []byte {
	c := t.spare
	t.spare = nil
	if c == nil {
		c = make([]byte, 0, chunk)
	}
	return c
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
	for {
		t.mu.Lock()
		for len(t.queue) == 0 && t.err == nil {
			t.changed.Wait()
		}
		if len(t.queue) == 0 {
			t.mu.Unlock()
			return
		}
		sent := t.queue[0]
		t.queue[0] = nil
		t.queue = t.queue[1:]
		t.mu.Unlock()
		if _, err := t.Conn.Write(sent); err != nil {
			t.fail(err)
			t.Conn.Close()
			return
		}
		t.mu.Lock()
		t.spare = sent[:0]
		t.mu.Unlock()
	}
}
