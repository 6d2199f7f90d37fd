package relay

import (
	"fmt"
	"io"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// MaxChannels is how many channels may be open on a stream at once.
const MaxChannels = 4096

// maxWaiting is the most that an end may have here at once: no Relay has as much under way.
const maxWaiting = MaxChannels*guaranteed + 2*shared

// read takes what the other end sends until the stream ends. It waits for nothing else but whoever receives Offers and
// Requests.
func (s *Stream) read() {
	err := s.frames()
	s.end(err)
	s.out.under.Close()
	s.mu.Lock()
	channels := s.channels
	s.channels = nil
	s.mu.Unlock()
	for _, c := range channels {
		c.over()
	}
	close(s.done)
	close(s.requests)
	if s.offers != nil {
		close(s.offers)
	}
}

func (s *Stream) frames() error {
	var first [wire.HeadSize]byte
	for {
		if _, err := io.ReadFull(s.tls, first[:]); err != nil {
			return fmt.Errorf("the stream was lost: %w", err)
		}
		head, err := wire.ParseHead(first)
		if err != nil {
			return err
		}
		payload := s.payloads.get(head.Size)
		if _, err := io.ReadFull(s.tls, payload); err != nil {
			return fmt.Errorf("the stream was lost: %w", err)
		}
		if err := s.take(head, payload); err != nil {
			return err
		}
	}
}

// take takes a frame.
func (s *Stream) take(head wire.Head, payload []byte) error {
	switch head.Kind {
	case wire.KindOpen:
		return s.offered(head.ID, payload)
	case wire.KindRequest:
		if len(payload) == 0 {
			return broken("it asks for nothing")
		}
		select {
		case s.requests <- &Request{Name: wire.Request(payload[0]), Payload: payload[1:], stream: s, id: head.ID}:
		case <-s.ending:
		}
		return nil
	case wire.KindReply:
		return s.replied(head.ID, payload)
	}
	s.mu.Lock()
	c := s.channels[head.ID]
	s.mu.Unlock()
	if c == nil {
		return nil // it was sent before the other end heard that the channel is closed
	}
	return c.take(head.Kind, payload)
}

// offered takes a new channel.
func (s *Stream) offered(id uint32, payload []byte) error {
	connection, err := wire.ParseConnection(payload)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.offers == nil || s.channels[id] != nil || len(s.channels) >= MaxChannels {
		s.mu.Unlock()
		return broken("it may not open channel %d", id)
	}
	c := newChannel(s, id)
	s.channels[id] = c
	s.mu.Unlock()
	select {
	case s.offers <- &Offer{Connection: connection, channel: c}:
	case <-s.ending:
	}
	return nil
}

func (s *Stream) replied(id uint32, payload []byte) error {
	s.mu.Lock()
	asked := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	if asked == nil || len(payload) == 0 {
		return broken("it answers what was not asked")
	}
	asked <- answer{ok: payload[0] == 1, payload: payload[1:]}
	return nil
}

// forget drops a channel that both ends have closed, or that was not taken.
func (s *Stream) forget(c *Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.channels[c.id] == c {
		delete(s.channels, c.id)
	}
}

// wait counts what waits to be taken, and says whether that is too much.
func (s *Stream) wait(cost int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += cost
	if s.waiting > maxWaiting {
		return broken("it sends more than it may")
	}
	return nil
}
