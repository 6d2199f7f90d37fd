package relay_test

import (
	"errors"
	"io"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// Nothing of a channel comes before the answer for it: who opens it waits for that, and would not hear of anything else.
func TestUnansweredChannelIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]wire.Kind{"closed": wire.KindClose, "data": wire.KindData, "end": wire.KindEnd, "asked": wire.KindReport} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			opened := make(chan error, 1)
			go func() {
				_, err := h.agent.Open(wire.Connection{Port: 80})
				opened <- err
			}()
			head, _ := h.receive(t, wire.KindOpen)
			h.send(t, kind, head.ID, []byte("x"))
			if err := <-opened; err == nil || errors.Is(err, relay.ErrClosed) || errors.Is(err, io.EOF) {
				t.Errorf("it was opened: %v", err)
			}
		})
	}
}

// Nothing of a channel comes before it is taken: its number is used once, and an offer that waits counts as long as it does.
func TestOfferedChannelIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]wire.Kind{"closed": wire.KindClose, "data": wire.KindData, "end": wire.KindEnd, "asked": wire.KindReport} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := newHostileAgent(t)
			h.send(t, wire.KindOpen, 1, wire.Connection{Port: 80}.Append(nil))
			<-s.Offers
			h.send(t, kind, 1, []byte("x"))
			if err := s.Wait(); errors.Is(err, relay.ErrClosed) || errors.Is(err, io.EOF) {
				t.Errorf("the stream ended with %v", err)
			}
		})
	}
}
