package relay_test

import (
	"errors"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// What was written before a close is sent.
func TestCloseSendsWhatWasWritten(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	const n = 1000
	asked := make(chan int)
	go func() {
		got := 0
		for range s.workstation.Requests {
			got++
		}
		asked <- got
	}()
	for range n {
		if err := s.agent.Tell(wire.RequestDraining); err != nil {
			t.Fatal(err)
		}
	}
	s.agent.Close()
	if got := <-asked; got != n {
		t.Errorf("%d of %d requests came", got, n)
	}
	if err := s.agent.Tell(wire.RequestDraining); !errors.Is(err, relay.ErrClosed) {
		t.Errorf("written after the close: %v", err)
	}
}

// A close does not wait for an end that takes nothing.
func TestCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	caller, _, done := h.join(t, relay.New())
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		caller.Write(make([]byte, 16<<20))
	}()
	h.receive(t, wire.KindData)
	h.agent.Close()
	if err := <-done; !errors.Is(err, relay.ErrCut) {
		t.Error(err)
	}
	<-sent
}
