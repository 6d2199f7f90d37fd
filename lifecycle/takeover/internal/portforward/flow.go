package portforward

import (
	"errors"
	"io"
	"sync"

	"github.com/moby/spdystream/spdy"
)

// errReset is why a flow was not opened where the far end says no.
var errReset = errors.New("the far end refused it")

// flow is a stream of SPDY. A port has two: its data, and what is said of it.
type flow struct {
	id spdy.StreamId

	mu       sync.Mutex
	changed  sync.Cond
	received [][]byte // and not taken yet
	size     int      // of received
	answered bool
	refused  bool // instead of answered
	ended    bool // nothing more is received
	complete bool // it was the far end that said so
	finished bool // nothing more is sent
}

const (
	// most is what may be received and not taken before the connection waits.
	most = 256 << 10
	// frameCost is what a frame counts besides its bytes.
	frameCost = 64
)

func newFlow(id spdy.StreamId) *flow {
	w := &flow{id: id}
	w.changed.L = &w.mu
	return w
}

// await waits until the far end has answered, or the flow has ended.
func (w *flow) await() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.answered && !w.ended {
		w.changed.Wait()
	}
	switch {
	case w.answered:
		return nil
	case w.refused:
		return errReset
	}
	return ErrLost
}

// answer takes the far end's answer.
func (w *flow) answer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered = true
	w.changed.Broadcast()
}

// take takes data, and waits while much was not taken.
func (w *flow) take(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.size >= most && !w.ended {
		w.changed.Wait()
	}
	if w.ended || len(p) == 0 {
		return
	}
	w.received = append(w.received, p)
	w.size += len(p) + frameCost
	w.changed.Broadcast()
}

// Read implements io.Reader. What came before the end is read first.
func (w *flow) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for len(w.received) == 0 && !w.ended {
		w.changed.Wait()
	}
	n, before := 0, w.size
	for n < len(p) && len(w.received) > 0 {
		took := copy(p[n:], w.received[0])
		n += took
		w.size -= took
		if w.received[0] = w.received[0][took:]; len(w.received[0]) == 0 {
			w.received[0] = nil
			w.received = w.received[1:]
			w.size -= frameCost
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	if before >= most && w.size < most {
		w.changed.Broadcast()
	}
	return n, nil
}

// end says that the far end sends nothing more. It returns whether this end does not, either.
func (w *flow) end() (finished bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete = w.complete || !w.ended
	w.ended = true
	w.changed.Broadcast()
	return w.finished
}

// isComplete says whether all that the far end had to send came.
func (w *flow) isComplete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.complete
}

// drop ends both directions, and what was received is not read any more. It returns whether they had ended before.
func (w *flow) drop() (over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	over = w.ended && w.finished
	w.ended, w.finished = true, true
	w.received, w.size = nil, 0
	w.changed.Broadcast()
	return over
}

// lose ends both directions as the connection does; what was received before is read still.
func (w *flow) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.finished = true, true
	w.changed.Broadcast()
}

// refuse ends both directions as the far end does; what was received before is read still.
func (w *flow) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = !w.answered
	w.ended, w.finished = true, true
	w.changed.Broadcast()
}

// isFinished says whether nothing more is sent.
func (w *flow) isFinished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.finished
}

// finish says that nothing more is sent. It returns whether that is new, and whether nothing more is received, either.
func (w *flow) finish() (first, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first = !w.finished
	w.finished = true
	return first, w.ended
}
