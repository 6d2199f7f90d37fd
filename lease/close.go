package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// resolve asks the gate what a lease is to cover.
func (m *Manager) resolve(ctx context.Context, covers []string) ([]string, error) {
	names, err := m.config.Gate.Resolve(ctx, covers)
	if errors.Is(err, ErrInvalid) {
		return nil, err
	}
	if err != nil {
		return nil, &gateError{"look up what the lease covers", err}
	}
	if err := checkCovers(names); err != nil {
		return nil, fmt.Errorf("%w: what is to be covered: %w", ErrInvalid, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: the target has nothing that a lease in mode %s could cover", ErrInvalid, ModeBorrow)
	}
	return names, nil
}

// settle does what an acquisition does after the record is written: it lets the
// gate sweep what earlier holders left, and closes it in mode borrow. Nothing is
// closed before the record is there, so that whatever is found closed belongs to a
// record, or to one that was.
func (h *Held) settle(ctx context.Context, req Request, began time.Time) error {
	if h.m.config.Gate == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, min(h.m.config.GateTimeout, h.left()/2))
	defer cancel()
	_, err := h.m.sweep(bounded, h.m.claim(h.State()))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		h.m.config.Log.Warn("what earlier holders left closed could not be opened; it ends by itself", "target", h.m.config.Target, "err", err)
	}
	if !h.gated() {
		return nil
	}
	return h.closeGate(ctx, req, began)
}

// closeGate closes the gate, and waits for what is being written for as long as
// the request does. The record is renewed before the gate waits once more.
func (h *Held) closeGate(ctx context.Context, req Request, began time.Time) error {
	c := h.m.config
	left := func() time.Duration { return max(0, req.Wait-c.Clock.Now().Sub(began)) }
	for {
		busy := h.tryToClose(ctx, left())
		if !errors.Is(busy, ErrBusy) || left() == 0 {
			return busy
		}
		if err := h.m.sleep(ctx, min(left(), c.RetryPeriod)); err != nil {
			return errors.Join(err, busy)
		}
		if err := h.renew(ctx, h.m.duration(req), false); err != nil {
			return err
		}
	}
}

// tryToClose closes the gate of a record that stands. So that the record does not
// end meanwhile, at most half of what is left of it is spent on waiting.
func (h *Held) tryToClose(ctx context.Context, wait time.Duration) error {
	if err := h.Check(ctx); err != nil {
		return err
	}
	s := h.State()
	claim := h.claimAt(s.Now, s.Expires)
	claim.Wait = min(wait, h.m.config.Borrow.RenewEvery, h.left()/2)
	err := atGate(ctx, "close the gate", h.left(), func(ctx context.Context) error { return h.m.config.Gate.Close(ctx, claim) })
	if lost := h.alive(); lost != nil {
		return lost
	}
	if err != nil {
		return err
	}
	// Who broke the lease meanwhile may have swept before there was anything to
	// sweep.
	return h.Check(ctx)
}

// abandon gives back what an acquisition that failed acquired. ctx may be over.
func (h *Held) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.m.config.GateTimeout)
	defer cancel()
	return h.Release(ctx)
}
