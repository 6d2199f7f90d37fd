package relay

import (
	"crypto/tls"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// enough is how much may wait to be sent before those who send more have to wait, too.
	enough = 256 << 10
	// tooMuch waits only where the other end asks without end and takes no answer.
	tooMuch = 4 << 20
	// closeTimeout is how long a Close waits for what was written, and a connection that was cut off for what came before.
	closeTimeout = time.Second
)

// writer sends frames. A goroutine that writes when no other does sends its frame itself; what is written meanwhile goes out
// together, sent by a goroutine that is there for that.
type writer struct {
	tls   *tls.Conn
	under *bulk.Batch

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte // frames
	spare   []byte // to wait next
	sending bool
	err     error // of the first write that failed, or ErrClosed
}

func newWriter(conn *tls.Conn, under *bulk.Batch) *writer {
	w := &writer{tls: conn, under: under}
	w.changed.L = &w.mu
	return w
}

// write sends a frame. It waits while enough others do.
func (w *writer) write(kind wire.Kind, id uint32, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) >= enough && w.err == nil {
		w.changed.Wait()
	}
	first, err := w.append(kind, id, payload)
	if first {
		w.round() // this frame is in it
		w.handOn()
	}
	return err
}

// post sends a frame and never waits, as whoever reads must not: else the two ends could wait for each other.
func (w *writer) post(kind wire.Kind, id uint32, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > tooMuch {
		return broken("it takes nothing and asks for more")
	}
	first, err := w.append(kind, id, payload)
	if first {
		w.handOn()
	}
	return err
}

// handOn has a goroutine of its own send what waits, if anything does: whoever wrote first has something else to do.
func (w *writer) handOn() {
	if len(w.waiting) == 0 {
		w.rest()
		return
	}
	go func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for len(w.waiting) > 0 {
			w.round()
		}
		w.rest()
	}()
}

// rest says that nobody sends.
func (w *writer) rest() {
	w.sending = false
	w.changed.Broadcast()
}

// append has a frame wait. It says whether the caller has to send.
func (w *writer) append(kind wire.Kind, id uint32, payload []byte) (first bool, err error) {
	if w.err != nil {
		return false, w.err
	}
	w.waiting = append(wire.Head{Kind: kind, Size: len(payload), ID: id}.Append(w.waiting), payload...)
	first = !w.sending
	w.sending = true
	return first, nil
}

// round sends what waits now. It is called with the lock, and gives it away.
func (w *writer) round() {
	frames := w.waiting
	w.waiting, w.spare = w.spare[:0], nil
	w.mu.Unlock()
	w.under.Hold()
	_, err := w.tls.Write(frames)
	if err == nil {
		err = w.under.Release()
	}
	w.mu.Lock()
	w.spare = frames
	if err != nil {
		if w.err == nil {
			w.err = err
		}
		w.waiting = nil
		w.under.Close()
	}
	w.changed.Broadcast()
}

// close sends what waits, for a second at most, and closes the connection.
func (w *writer) close() {
	late := time.AfterFunc(closeTimeout, func() { w.under.Close() })
	defer late.Stop()
	w.mu.Lock()
	if w.err == nil {
		w.err = ErrClosed
	}
	for w.sending {
		w.changed.Wait()
	}
	w.mu.Unlock()
	w.under.Close()
}
