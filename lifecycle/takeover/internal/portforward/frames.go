package portforward

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"sync"

	"github.com/moby/spdystream/spdy"
)

// frames are a connection in SPDY/3.1, as far as port-forwards use it: streams that this end opens, without flow
// control, and pings. A Connection of spdystream hands every frame on through four goroutines, which costs more than
// all else that is done with it. See https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/.
type frames struct {
	wire *Wire
	in   *spdy.Framer

	sending sync.Mutex // before mu
	out     *spdy.Framer
	buf     bytes.Buffer // what out writes, a frame at a time
	next    spdy.StreamId
	asked   uint32

	mu    sync.Mutex
	flows map[spdy.StreamId]*flow // nil when nothing more is read
}

// headSize is how long the head of a frame is.
const headSize = 8

// readAhead is for the heads of frames, which are read in little pieces.
const readAhead = 4 << 10

func newFrames(w *Wire) (*frames, error) {
	f := &frames{wire: w, next: 1, asked: 1, flows: map[spdy.StreamId]*flow{}}
	var err error
	if f.in, err = spdy.NewFramer(nil, bufio.NewReaderSize(w, readAhead)); err != nil {
		return nil, err
	}
	f.out, err = spdy.NewFramer(&f.buf, nil)
	return f, err
}

// open asks for a flow, which is there when the far end has answered.
func (f *frames) open(headers http.Header) (*flow, error) {
	f.sending.Lock()
	defer f.sending.Unlock()
	if f.next > 1<<31-1 {
		return nil, ErrLost
	}
	w := newFlow(f.next)
	f.next += 2
	if !f.add(w) {
		return nil, ErrLost
	}
	return w, f.send(&spdy.SynStreamFrame{StreamId: w.id, Headers: headers})
}

func (f *frames) add(w *flow) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flows == nil {
		return false
	}
	f.flows[w.id] = w
	return true
}

// send sends a frame that is not data, and does not wait for the far end, which might wait for this one. It is called with
// f.sending.
func (f *frames) send(frame spdy.Frame) error {
	f.buf.Reset()
	if err := f.out.WriteFrame(frame); err != nil {
		return err
	}
	return f.wire.post(f.buf.Bytes())
}

// write sends data of a flow.
func (f *frames) write(w *flow, flags spdy.DataFlags, p []byte) error {
	var head [headSize]byte
	binary.BigEndian.PutUint32(head[:], uint32(w.id))
	binary.BigEndian.PutUint32(head[4:], uint32(flags)<<24|uint32(len(p)))
	return f.wire.write(head[:], p)
}

// finish says that nothing more of a flow is sent.
func (f *frames) finish(w *flow) error {
	first, ended := w.finish()
	if ended {
		f.forget(w)
	}
	if !first {
		return nil
	}
	return f.write(w, spdy.DataFlagFin, nil)
}

// reset ends a flow at once.
func (f *frames) reset(w *flow) {
	f.forget(w)
	if over := w.drop(); over {
		return
	}
	_ = f.post(&spdy.RstStreamFrame{StreamId: w.id, Status: spdy.Cancel})
}

// ping asks whether the far end is there.
func (f *frames) ping() error {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.asked = (f.asked + 2) % (1 << 31)
	return f.send(&spdy.PingFrame{Id: f.asked})
}

// serve reads frames until the connection ends. It waits for nobody but whoever reads flows.
func (f *frames) serve() {
	for f.take() == nil {
	}
	f.stop()
}

// stop ends all flows, also those that nobody reads yet. What came before is read still.
func (f *frames) stop() {
	f.mu.Lock()
	flows := f.flows
	f.flows = nil
	f.mu.Unlock()
	for _, w := range flows {
		w.lose()
	}
}

// errAway is why nothing more is read where the far end goes away.
var errAway = errors.New("the far end goes away")

// take takes a frame of the far end.
func (f *frames) take() error {
	frame, err := f.in.ReadFrame()
	if err != nil {
		return err
	}
	switch frame := frame.(type) {
	case *spdy.DataFrame:
		if w := f.flow(frame.StreamId); w != nil {
			w.take(frame.Data)
			f.ended(w, frame.Flags&spdy.DataFlagFin != 0)
		}
	case *spdy.SynReplyFrame:
		if w := f.flow(frame.StreamId); w != nil {
			w.answer()
			f.ended(w, frame.CFHeader.Flags&spdy.ControlFlagFin != 0)
		}
	case *spdy.RstStreamFrame:
		if w := f.flow(frame.StreamId); w != nil {
			f.forget(w)
			w.refuse()
		}
	case *spdy.PingFrame:
		if frame.Id%2 == 0 { // it is not an answer
			return f.post(frame)
		}
	case *spdy.SynStreamFrame:
		return f.post(&spdy.RstStreamFrame{StreamId: frame.StreamId, Status: spdy.RefusedStream})
	case *spdy.GoAwayFrame:
		return errAway
	}
	return nil
}

// post is send.
func (f *frames) post(frame spdy.Frame) error {
	f.sending.Lock()
	defer f.sending.Unlock()
	return f.send(frame)
}

func (f *frames) flow(id spdy.StreamId) *flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flows[id]
}

// ended says that the far end sends nothing more of a flow, if it says so.
func (f *frames) ended(w *flow, says bool) {
	if says && w.end() {
		f.forget(w)
	}
}

func (f *frames) forget(w *flow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.flows, w.id)
}
