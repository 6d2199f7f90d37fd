package relay

import (
	"fmt"
	"io"
	"sync"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// reportEvery is how often the other side is told what was consumed, unless it asks: each report takes the way of a frame,
// so that many cost as much as the bytes.
const reportEvery = 512 << 10

// maxQueued is what may wait to be taken from a channel, as it counts: the other end has no more under way.
const maxQueued = maxUnderway + guaranteed

// Rejected is the error of a channel that the other end does not take.
type Rejected struct{ Reason wire.Reason }

// Error implements error.
func (r Rejected) Error() string {
	return "the workstation does not take the connection: " + r.Reason.String()
}

// Offer is a channel that the other end has opened. Either method is called once.
type Offer struct {
	Connection wire.Connection
	channel    *Channel
}

// Accept takes the channel.
func (o *Offer) Accept() (*Channel, error) {
	o.channel.mu.Lock()
	o.channel.pending = false
	o.channel.mu.Unlock()
	return o.channel, o.channel.stream.out.write(wire.KindAccept, o.channel.id, nil)
}

// Reject does not take it.
func (o *Offer) Reject(r wire.Reason) error {
	defer o.channel.stream.forget(o.channel) // until then it counts
	return o.channel.stream.out.write(wire.KindReject, o.channel.id, []byte{byte(r)})
}

// Channel is a connection's way through a stream. [Relay.Join] reads and writes it.
type Channel struct {
	stream   *Stream
	id       uint32
	answered chan Rejected // of one that was opened here; closed when it is taken

	mu         sync.Mutex
	changed    sync.Cond
	queue      [][]byte // received, and not taken yet
	queued     int      // of queue, as it counts
	unreported int
	asked      bool
	pending    bool          // not taken yet, by whichever end is to
	ended      bool          // the other side's data have ended properly
	closed     bool          // by either side
	gone       chan struct{} // closed when nothing comes from the other side any more
	join       *join
}

func newChannel(s *Stream, id uint32) *Channel {
	c := &Channel{stream: s, id: id, answered: make(chan Rejected, 1), gone: make(chan struct{}), pending: true}
	c.changed.L = &c.mu
	return c
}

// take takes a frame from the other side. It never waits.
func (c *Channel) take(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	pending := c.pending
	c.mu.Unlock()
	answer := kind == wire.KindAccept || kind == wire.KindReject
	switch {
	case pending && !(answer && c.stream.offers == nil):
		return broken("it goes on with channel %d before that is taken", c.id)
	case answer && !pending:
		return broken("it answers for channel %d, and is not asked", c.id)
	}
	switch kind {
	case wire.KindAccept, wire.KindReject:
		return c.answer(kind, payload)
	case wire.KindData:
		return c.data(payload)
	case wire.KindEnd:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		c.changed.Signal()
		return nil
	case wire.KindConsumed:
		n, err := wire.ParseConsumed(payload)
		if err != nil {
			return err
		}
		c.mu.Lock()
		j := c.join
		c.mu.Unlock()
		if j == nil {
			return errOverreported
		}
		j.reported(n)
		return nil
	case wire.KindReport:
		return c.report(c.unreportedNow(true))
	default: // KindClose
		c.stream.forget(c)
		err := c.close()
		c.over()
		return err
	}
}

func (c *Channel) answer(kind wire.Kind, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = false
	if kind == wire.KindReject {
		if len(payload) != 1 {
			return fmt.Errorf("%w: %d bytes are no reason", wire.ErrFrame, len(payload))
		}
		c.stream.forget(c)
		c.answered <- Rejected{wire.Reason(payload[0])}
		return nil
	}
	close(c.answered)
	return nil
}

func (c *Channel) data(payload []byte) error {
	cost := len(payload) + packetCost
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if c.queued += cost; c.queued > maxQueued || c.ended || len(payload) == 0 {
		return broken("it sends what it may not to channel %d", c.id)
	}
	c.queue = append(c.queue, payload)
	c.changed.Signal()
	return c.stream.wait(cost)
}

// next waits for what was received. The error is io.EOF where the data have ended, and ErrCut where they were cut off.
func (c *Channel) next() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.ended && !c.closed {
		c.changed.Wait()
	}
	if len(c.queue) > 0 {
		payload := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		return payload, nil
	}
	if c.ended {
		return nil, io.EOF
	}
	return nil, ErrCut
}

// taken counts what next has returned as consumed, and reports it if it is time.
func (c *Channel) taken(payload []byte) error {
	n := len(payload)
	c.stream.payloads.put(payload)
	c.mu.Lock()
	c.queued -= n + packetCost
	c.unreported += n
	due := c.asked || c.unreported >= reportEvery
	c.mu.Unlock()
	_ = c.stream.wait(-n - packetCost)
	if !due {
		return nil
	}
	return c.report(c.unreportedNow(false))
}

// unreportedNow returns what is to be reported, and counts it as such. If there is nothing, asked has the next byte
// reported.
func (c *Channel) unreportedNow(asked bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.unreported
	c.unreported = 0
	c.asked = asked && n == 0
	return n
}

func (c *Channel) report(n int) error {
	if n == 0 {
		return nil
	}
	return c.stream.out.post(wire.KindConsumed, c.id, wire.AppendConsumed(nil, n))
}

// offered says whether the other end has opened it.
func (c *Channel) offered() bool { return c.stream.offers != nil }

// begin has what comes for the channel's sender go to j.
func (c *Channel) begin(j *join) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.join = j
	select {
	case <-c.gone:
		j.over(c.ended)
	default:
	}
}

// write sends data. It fails where either side has closed the channel.
func (c *Channel) write(p []byte) error {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return ErrCut
	}
	return c.stream.out.write(wire.KindData, c.id, p)
}

// closeWrite says that the data end here, properly.
func (c *Channel) closeWrite() { _ = c.stream.out.post(wire.KindEnd, c.id, nil) }

// ask asks the other side to report what it consumed.
func (c *Channel) ask() { _ = c.stream.out.post(wire.KindReport, c.id, nil) }

// over says that nothing comes any more.
func (c *Channel) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	if c.join != nil {
		c.join.over(c.ended)
	}
	close(c.gone) // last: the join may end with it
}

// Close ends both directions. What was not received yet is not received, so that nobody may be receiving.
func (c *Channel) Close() error {
	err := c.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.stream.wait(-c.queued)
	c.queue, c.queued = nil, 0
	return err
}

// close ends both directions. What came before can be received still.
func (c *Channel) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.changed.Broadcast()
	return c.stream.out.post(wire.KindClose, c.id, nil)
}
