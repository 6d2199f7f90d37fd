package lease_test

import (
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// A gate that was opened before, by a hand-back that was killed, is no loss for the
// one that goes on, whose first renewal comes before it opens the gate.
func TestHandBackOfAnOpenedGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d, func(c *lease.Config) { c.Clock = w.server })
	short := borrow
	short.For = time.Minute // so that it is renewed at once
	first := acquire(t, p.Manager, short)
	d.reset()
	h, err := p.Resume(t.Context(), first.Holder())
	if err != nil {
		t.Fatal(err)
	}
	h.WillOpen()
	lost, stop := h.Keep(t.Context())
	w.server.awaitTimer() // that of the second renewal
	stop()
	if err := <-lost; err != nil {
		t.Error(err)
	}
	if s := inspect(t, p.Manager); !s.Expires.Equal(s.Now.Add(20 * time.Minute)) {
		t.Errorf("it was not renewed: %+v", s)
	}
	if _, err := h.Open(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if s := inspect(t, p.Manager); s.Held {
		t.Errorf("%+v", s)
	}
}
