package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// ErrCut is matched by the error of a Join whose stream or whose other side's
// connection ended in the middle.
var ErrCut = errors.New("the connection was cut off at the other end of the stream")

// The budget of a Relay: what each connection may have under way in each direction, and all of them besides that, in the
// direction from here.
const (
	guaranteed = 4 << 10
	shared     = 4 << 20
)

const (
	smallBuffer = 512
	bigBuffer   = wire.MaxData
	// slack is how much of a buffer a connection may keep for itself, as one does whose
	// frames are followed.
	slack = 16
	// bigDirections is how many directions may have big buffers, each until its pair
	// ends.
	bigDirections = 16
	// othersShare is what each of the others may have, divided by how many pairs are
	// open then. So the n-th has an n-th of it at most, and all of them, up to
	// thousands, no more than a few times as much together.
	othersShare = bigDirections * bigBuffer / 4
)

// Relay joins connections and channels within one budget.
type Relay struct {
	pool    pool
	open    atomic.Int64
	buffers sync.Pool    // *[bigBuffer]byte
	big     atomic.Int64 // directions that may have them
}

// New returns a Relay.
func New() *Relay {
	r := &Relay{buffers: sync.Pool{New: func() any { return new([bigBuffer]byte) }}}
	r.pool.free.Store(shared)
	return r
}

// Open returns how many pairs are joined now.
func (r *Relay) Open() int { return int(r.open.Load()) }

// Pair is a connection and its channel.
type Pair struct {
	// Conn should have the methods CloseWrite and SetLinger of a *net.TCPConn:
	// without them it sees an end only when both directions have ended, and a reset
	// as a close.
	Conn    net.Conn
	Channel *Channel
	// KeepUnanswered leaves Conn open where the error matches ErrCut and not a byte
	// was written to it, so that the caller can still answer.
	KeepUnanswered bool
}

// Result is what went through a pair.
type Result struct {
	Sent     int64 // bytes from the connection to the channel
	Received int64 // bytes from the channel to the connection
	// Kept says that the connection is open still.
	Kept bool
}

// Join copies both ways until both directions have ended, and closes both sides.
// It ends early only with the pair: whoever wants it to closes the connection, or
// the stream. The error is nil if both directions ended properly, matches ErrCut
// if the other side cut it off, and is the connection's otherwise.
func (r *Relay) Join(p Pair) (Result, error) {
	r.open.Add(1)
	defer r.open.Add(-1)
	j := &join{Relay: r, Pair: p, credit: newCredit(&r.pool)}
	j.Channel.begin(j)
	var sending sync.WaitGroup
	sending.Go(j.send)
	j.receive()
	sending.Wait()
	j.Channel.Close()
	<-j.Channel.gone
	j.aside.Wait()
	result := Result{Sent: j.sent, Received: j.received, Kept: j.kept}
	if j.kept {
		j.Conn.SetDeadline(time.Time{})
		return result, j.err
	}
	if j.err == nil && j.refused {
		j.err = ErrCut
		if j.Channel.offered() {
			Reset(j.Conn)
		}
	}
	j.Conn.Close()
	return result, j.err
}

// join is one pair on its way.
type join struct {
	*Relay
	Pair
	credit *credit

	aside sync.WaitGroup // what the stream's reader started

	sent, received int64
	refused        bool        // the channel took no more data
	ended          atomic.Bool // what the connection sends has ended properly

	failing sync.Once
	err     error
	kept    bool
}

// send copies from the connection to the channel.
func (j *join) send() {
	defer j.credit.close()
	var b buffer
	defer b.release(j.Relay)
	for {
		room, ok := j.credit.wait(j.Channel.ask)
		if !ok {
			j.refused = true
			return
		}
		buf := b.next(j.Relay, room)
		n, err := j.Conn.Read(buf)
		if n > 0 {
			b.used(n, len(buf))
			j.credit.sent(n)
			if err := j.Channel.write(buf[:n]); err != nil {
				// What came before the channel's end is handed on still.
				j.refused = true
				return
			}
			j.sent += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			j.ended.Store(true) // first: the other end may close the channel when it hears of that
			j.Channel.closeWrite()
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			j.refused = true
			return
		case err != nil:
			j.fail(fmt.Errorf("read from the connection: %w", err), false)
			return
		}
	}
}

// receive copies from the channel to the connection.
func (j *join) receive() {
	for {
		data, err := j.Channel.next()
		if err != nil {
			j.finish(err)
			return
		}
		j.received += int64(len(data))
		if _, err := j.Conn.Write(data); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = ErrCut
			}
			j.fail(fmt.Errorf("write to the connection: %w", err), false)
			return
		}
		j.Channel.taken(data)
	}
}

// finish ends the connection as the channel's data ended.
func (j *join) finish(how error) {
	if errors.Is(how, ErrCut) {
		j.fail(ErrCut, j.KeepUnanswered && j.received == 0)
		return
	}
	if half, ok := j.Conn.(interface{ CloseWrite() error }); ok {
		if err := half.CloseWrite(); err != nil {
			j.fail(fmt.Errorf("close the connection's writing side: %w", err), false)
		}
	}
}

// reported takes what the other side says that it consumed. It is called by the stream's reader, and never waits.
func (j *join) reported(n int) {
	if err := j.credit.report(n); err != nil {
		j.aside.Go(func() { j.fail(err, false) })
	}
}

// over says that nothing comes from the channel any more, and nothing is taken. Whether what came has ended properly says ended.
func (j *join) over(ended bool) {
	j.credit.close()
	if ended && j.ended.Load() {
		return // what came may take as long as it takes
	}
	if ended {
		j.Conn.SetReadDeadline(time.Unix(1, 0)) // nobody takes what it has to say
	}
	if !ended || j.Channel.offered() {
		// Who takes no bytes is told of the cut all the same. Only a caller has his answer whole, if that has ended.
		j.Conn.SetWriteDeadline(time.Now().Add(closeTimeout))
	}
}

// fail ends both sides at once, unless that was done.
func (j *join) fail(err error, keep bool) {
	j.failing.Do(func() {
		j.err, j.kept = err, keep
		j.Channel.close()
		j.credit.close()
		if keep {
			j.Conn.SetReadDeadline(time.Unix(1, 0))
			return
		}
		Reset(j.Conn)
	})
}

// Reset closes a connection so that the other end sees that it was cut off.
func Reset(conn net.Conn) {
	if lingerer, ok := conn.(interface{ SetLinger(int) error }); ok {
		lingerer.SetLinger(0)
	}
	conn.Close()
}
