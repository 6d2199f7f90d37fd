package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Held is a lease that was acquired. It is safe for concurrent use. Once it is
// lost it stays lost, and every method but Release says so.
type Held struct {
	m      *Manager
	holder string
	token  int64
	uid    types.UID
	mode   Mode
	claim  Claim // without times

	// writing is held by whoever renews or releases: both write the lease as it
	// was last seen. A channel, so that waiting for it ends with a context.
	writing chan struct{}
	checks  coalescer

	mu       sync.Mutex
	lease    *coordinationv1.Lease // as last seen
	state    State                 // of it
	deadline time.Time             // on this machine's clock, zero if there is none
	seen     time.Time             // when that was asked for, on this machine's clock
	lost     error
	gate     gateState
}

// newHeld returns the holder of a lease that is its own in r.
func (m *Manager) newHeld(r reading) *Held {
	s := m.state(r)
	h := &Held{
		m:       m,
		holder:  s.Holder,
		token:   s.Token,
		uid:     r.lease.UID,
		mode:    s.Mode,
		claim:   m.claim(s),
		writing: make(chan struct{}, 1),
	}
	h.adopt(r)
	return h
}

// adopt takes over what a reading of our own lease says.
func (h *Held) adopt(r reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.m.state(r)
	if r.sent.Before(h.seen) || s.Expires.Before(h.state.Expires) {
		return // a check and a renewal overtook each other: the other one is newer
	}
	h.lease, h.state, h.seen = r.lease, s, r.sent
	h.deadline = time.Time{}
	if e := h.state.Expires; !e.IsZero() {
		// The server answered after r.sent, and no later than a second after
		// r.date. So when d has passed on this machine since r.sent, no more
		// than d and a second have passed on the server's since r.date: the
		// margin is at least that second.
		h.deadline = r.sent.Add(e.Sub(r.date) - h.m.config.Margin)
	}
}

// Token returns the fencing token: it is larger than that of every earlier
// holder, whoever it was.
func (h *Held) Token() int64 { return h.token }

// Holder returns the random ID of this holder, which Resume finds the lease by.
func (h *Held) Holder() string { return h.holder }

// State returns the lease as it was last seen. No API call.
func (h *Held) State() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

// Deadline returns until when the holder may write, on this machine's clock:
// the lease's end less the margin. Zero if the lease does not end by itself. No
// API call.
func (h *Held) Deadline() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deadline
}

// alive says without a call whether the lease can still be held.
func (h *Held) alive() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil && !h.deadline.IsZero() && !h.m.config.Clock.Now().Before(h.deadline) {
		h.lost = h.m.lost(h.state, fmt.Sprintf("it was not renewed and ends at %s", h.state.Expires.Format(time.RFC3339)))
	}
	return h.lost
}

// lose marks the lease as lost, for the first reason that was found.
func (h *Held) lose(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		h.lost = err
	}
	return h.lost
}

// verify says whether the lease is still ours in what was just read, and takes
// over what it says.
func (h *Held) verify(r reading) error {
	s := h.m.state(r)
	switch {
	case s.Holder != h.holder || s.brokenFor(h.holder):
		return h.lose(h.m.lost(s, notOurs(r, s, h.holder)))
	case s.Token > h.token && r.lease.UID == h.uid:
		return h.lose(h.m.lost(s, "its holder took it up elsewhere"))
	case s.Token != h.token || r.lease.UID != h.uid:
		return h.lose(h.m.lost(s, "it was written by something else than Pharos"))
	}
	// This machine may have slept, and its monotonic clock with it. An end that is
	// known to have passed counts, too: a renewal that was lost on its way can
	// have moved it since.
	for _, end := range []time.Time{h.State().Expires, s.Expires} {
		if !end.IsZero() && !r.date.Before(end) {
			return h.lose(h.m.lost(s, fmt.Sprintf("it ran out at %s", end.Format(time.RFC3339))))
		}
	}
	if err := h.alive(); err != nil {
		return err
	}
	h.adopt(r)
	return h.alive()
}

// Check says whether the lease is still held, and is called right before every
// write that it guards. It looks at this machine's clock, and reads the lease:
// nil means that after Check was called it stood on the target with our ID and
// token and had not ended. Any error means not to write. ErrLost if the lease
// is lost; any other error if it could not be read.
//
// Checks that are waiting at the same time share an API call, but never one
// that began before the Check was called: that one may have been answered
// before the lease was lost. Many parallel writers so cost about one API call
// per round trip.
func (h *Held) Check(ctx context.Context) error {
	if err := h.alive(); err != nil {
		return err
	}
	if err := h.checks.do(ctx, h.look); err != nil {
		return err
	}
	// The answer may have been long on its way.
	return h.alive()
}

func (h *Held) look(ctx context.Context) error {
	r, err := h.m.read(ctx)
	if err != nil {
		return h.m.fail("check lease", err)
	}
	return h.verify(r)
}

// Release gives the lease back: it opens the gate, unless Open has, and then
// clears the record. The Lease object stays, for its token. What is not ours any
// more is left alone, and releasing it again does nothing. Call it with a context
// of its own, since the one of the work is often over. If it fails the lease ends
// by itself.
//
// The record is cleared even if the gate could not be opened, which then is an
// ErrLeftClosed, and even if ctx ended meanwhile. One API call, three if somebody
// else changed the object; one more and the gate's if there is a gate to open.
func (h *Held) Release(ctx context.Context) error {
	const op = "release lease"
	if err := h.write(ctx); err != nil {
		return h.m.fail(op, err)
	}
	defer h.wrote()
	h.mu.Lock()
	last := h.lease
	h.lease = nil
	// From here on nothing may be written any more, however this ends.
	if h.lost == nil {
		h.lost = h.m.lost(h.state, "it was released")
	}
	h.mu.Unlock()
	var gerr error
	if h.gated() && !h.isOpen() {
		if _, gerr = h.open(ctx); gerr != nil {
			gerr = fmt.Errorf("%w: %w", ErrLeftClosed, gerr)
		}
		if ctx.Err() != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), h.m.config.RequestTimeout)
			defer cancel()
		}
	}
	if err := errors.Join(h.m.release(ctx, h.holder, h.token, last), gerr); err != nil {
		return h.m.fail(op, err)
	}
	return nil
}

// write waits for the turn to write the lease.
func (h *Held) write(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case h.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Held) wrote() { <-h.writing }
