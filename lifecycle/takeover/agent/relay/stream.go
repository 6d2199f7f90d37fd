package relay

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// ErrClosed is matched by the error of a stream that this end has closed.
var ErrClosed = errors.New("the stream is closed")

// errSpent ends a stream; the next one begins with the first number again.
var errSpent = errors.New("the stream has no numbers left for channels and requests: a new one has")

// Stream is one end of a takeover's stream: channels for connections, and requests. It is safe for concurrent use.
type Stream struct {
	// Offers are the channels that the other end opens. It is nil at the end that opens them. Offers and Requests are closed
	// when the stream has ended; until then nothing is read while they are not received from.
	Offers <-chan *Offer
	// Requests are those of the other end.
	Requests <-chan *Request

	tls      *tls.Conn
	out      *writer
	payloads payloads
	offers   chan *Offer
	requests chan *Request
	ending   chan struct{} // closed when it is known why it ends
	done     chan struct{} // closed when nothing is read any more

	mu       sync.Mutex
	err      error // why it has ended
	next     uint32
	channels map[uint32]*Channel
	asked    map[uint32]chan answer
	waiting  int // what was received for channels and not taken yet, as it counts
}

type answer struct {
	ok      bool
	payload []byte
}

// Accept makes a stream of a connection to the end that opens channels, once both have proven who they are. Whoever wants that to
// take no longer closes conn.
func Accept(conn net.Conn, k Keys) (*Stream, error) { return newStream(conn, k, tls.Server, false) }

// Dial makes a stream of a connection to the end that is offered channels.
func Dial(conn net.Conn, k Keys) (*Stream, error) { return newStream(conn, k, tls.Client, true) }

func newStream(conn net.Conn, k Keys, end func(net.Conn, *tls.Config) *tls.Conn, offered bool) (*Stream, error) {
	config, err := k.config()
	if err != nil {
		return nil, err
	}
	under := bulk.NewBatch(bulk.Direct(conn))
	s := &Stream{
		tls: end(under, config), requests: make(chan *Request, 1), ending: make(chan struct{}), done: make(chan struct{}),
		channels: map[uint32]*Channel{}, asked: map[uint32]chan answer{},
	}
	if err := s.tls.Handshake(); err != nil {
		return nil, err
	}
	if err := k.Known(s.tls.ConnectionState().PeerCertificates[0].PublicKey.(ed25519.PublicKey)); err != nil {
		return nil, err
	}
	s.out = newWriter(s.tls, under)
	s.Requests = s.requests
	if offered {
		s.offers = make(chan *Offer, 1)
		s.Offers = s.offers
	}
	go s.read()
	return s, nil
}

// Close sends what was written, for a second at most, and ends the stream and all its channels.
func (s *Stream) Close() error {
	s.end(ErrClosed)
	s.out.close()
	<-s.done
	return nil
}

// Wait waits until the stream has ended, and says why.
func (s *Stream) Wait() error {
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// end takes over why the stream ends, if that is not known yet.
func (s *Stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.ending)
	}
}

// number has take take the next number of a channel or a request, with the lock. The stream ends where none is left, since
// none is used again.
func (s *Stream) number(take func(id uint32)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.next == math.MaxUint32 {
		s.err = errSpent
		close(s.ending)
		s.out.under.Close()
	}
	if s.err != nil {
		return s.err
	}
	s.next++
	take(s.next)
	return nil
}

// Open offers a channel for a connection, and returns it when the other end takes it. The error is a [Rejected] if that
// does not.
func (s *Stream) Open(c wire.Connection) (*Channel, error) {
	var channel *Channel
	if err := s.number(func(id uint32) {
		channel = newChannel(s, id)
		s.channels[id] = channel
	}); err != nil {
		return nil, err
	}
	if err := s.out.write(wire.KindOpen, channel.id, c.Append(nil)); err != nil {
		return nil, err
	}
	select {
	case rejected, ok := <-channel.answered:
		if ok {
			return nil, rejected
		}
		return channel, nil
	case <-s.done:
		return nil, s.Wait()
	}
}

// Request is what the other end asks.
type Request struct {
	Name    wire.Request
	Payload []byte

	stream *Stream
	id     uint32
}

// Reply answers it, if an answer is waited for.
func (r *Request) Reply(ok bool, payload []byte) {
	if r.id == 0 {
		return
	}
	said := byte(0)
	if ok {
		said = 1
	}
	_ = r.stream.out.write(wire.KindReply, r.id, append([]byte{said}, payload...))
}

// Ask sends a request and returns the answer.
func (s *Stream) Ask(name wire.Request, payload []byte) (ok bool, reply []byte, err error) {
	answered := make(chan answer, 1)
	var id uint32
	if err := s.number(func(next uint32) {
		id = next
		s.asked[id] = answered
	}); err != nil {
		return false, nil, err
	}
	if err := s.out.write(wire.KindRequest, id, append([]byte{byte(name)}, payload...)); err != nil {
		return false, nil, err
	}
	select {
	case a := <-answered:
		return a.ok, a.payload, nil
	case <-s.done:
		return false, nil, s.Wait()
	}
}

// Tell sends a request that is not answered, and never waits.
func (s *Stream) Tell(name wire.Request) error {
	return s.out.post(wire.KindRequest, 0, []byte{byte(name)})
}

// broken is an error of an end that does what it may not.
func broken(format string, args ...any) error {
	return fmt.Errorf("the other end of the stream is broken: "+format, args...)
}
