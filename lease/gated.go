package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// gateState says how far the holder of a lease is with its gate.
type gateState struct {
	opening bool // Open began: nobody expects the gate to stand any more
	open    bool // and has opened it
}

// gates says whether a lease of that mode closes a gate.
func (m *Manager) gates(mode Mode) bool { return m.config.Gate != nil && mode == ModeBorrow }

// gated says whether the gate is to be looked after.
func (h *Held) gated() bool { return h.m.gates(h.mode) }

func (h *Held) isOpen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gate.open
}

func (h *Held) isOpening() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gate.opening
}

// claim says to the gate whose lease it is, without an end.
func (m *Manager) claim(s State) Claim {
	return Claim{
		Namespace: m.config.Namespace, Name: m.config.Name, Target: m.config.Target,
		Holder: s.Holder, Token: s.Token, User: s.User, Purpose: s.Purpose, Covers: s.Covers, Now: s.Now,
	}
}

// claimUntil is the claim of this holder as the lease was last read, with an end
// of the gate when others may acquire the lease that ends at end.
func (h *Held) claimUntil(end time.Time) Claim {
	c := h.claim
	c.Now = h.State().Now
	if !end.IsZero() {
		c.Until = end.Add(h.m.config.Grace + time.Second - 1).Truncate(time.Second)
	}
	c.Guard = h.Check
	return c
}

// resolve asks the gate what a lease is to cover.
func (m *Manager) resolve(ctx context.Context, covers []string) ([]string, error) {
	names, err := m.config.Gate.Resolve(ctx, covers)
	if err != nil {
		return nil, err
	}
	if err := checkCovers(names); err != nil {
		return nil, fmt.Errorf("%w: what is to be covered: %w", ErrInvalid, err)
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
	err := step(ctx, min(h.m.config.GateTimeout, h.left()/2), func(ctx context.Context) error {
		_, err := h.m.sweep(ctx, h.State())
		return err
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		h.m.config.Log.Warn("what earlier holders left closed could not be opened; it ends by itself", "target", h.m.config.Target, "err", err)
	}
	if !h.gated() {
		return nil
	}
	return h.close(ctx, req, began)
}

// close closes the gate, and waits for what is being written for as long as the
// request does. The record must not end meanwhile: the gate is never given more
// than half of what is left of it to wait, and before it waits again the record
// is renewed.
func (h *Held) close(ctx context.Context, req Request, began time.Time) error {
	c := h.m.config
	for {
		if err := h.Check(ctx); err != nil {
			return err
		}
		rest := func() time.Duration { return max(0, req.Wait-c.Clock.Now().Sub(began)) }
		claim := h.claimUntil(h.State().Expires)
		claim.Wait = min(rest(), c.Borrow.RenewEvery, h.left()/2)
		err := step(ctx, h.left(), func(ctx context.Context) error { return c.Gate.Close(ctx, claim) })
		switch left := rest(); {
		case err == nil:
			// Who broke the lease meanwhile may have swept before there was
			// anything to sweep.
			return h.Check(ctx)
		case h.alive() != nil:
			return h.alive()
		case !errors.Is(err, ErrBusy) || left == 0:
			return err
		default:
			if err := h.m.sleep(ctx, min(left, c.RetryPeriod)); err != nil {
				return errors.Join(err, ErrBusy)
			}
		}
		if err := h.renew(ctx, h.m.duration(req), false); err != nil {
			return err
		}
	}
}

// abandon gives back what an acquisition that failed acquired. ctx may be over.
func (h *Held) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.m.config.GateTimeout)
	defer cancel()
	return h.Release(ctx)
}

// extend moves the end of the gate, or looks whether it stands.
func (h *Held) extend(ctx context.Context, end time.Time) error {
	if h.isOpening() {
		return nil
	}
	claim := h.claimUntil(end)
	err := step(ctx, h.m.config.GateTimeout, func(ctx context.Context) error { return h.m.config.Gate.Extend(ctx, claim) })
	switch {
	case err == nil:
		return nil
	case h.alive() != nil:
		return h.alive()
	case !errors.Is(err, ErrOpened):
		return err
	}
	h.m.config.Log.Error("the lease is lost: its gate was opened", "target", h.m.config.Target, "holder", h.holder, "err", err)
	return h.lose(&LostError{Target: h.m.config.Target, Reason: err.Error(), State: h.State(), Err: err})
}

// Open opens the gate while the lease is still held, so that its holder can wait
// under it until what was kept away has come back: see Report.Pending. From then
// on renewals move the record alone. It may be called again, also when the lease
// is lost: what was closed for this holder is closed for nobody else. Without a
// gate, and in other modes than borrow, it does nothing. One API call, and the
// gate's.
func (h *Held) Open(ctx context.Context) (Report, error) {
	const op = "open the gate of lease"
	if !h.gated() {
		return Report{}, nil
	}
	if err := h.write(ctx); err != nil {
		return Report{}, h.m.fail(op, err)
	}
	defer h.wrote()
	report, err := h.open(ctx)
	if err != nil {
		return report, h.m.fail(op, err)
	}
	return report, nil
}

// open is Open for who has the turn to write.
func (h *Held) open(ctx context.Context) (Report, error) {
	h.mu.Lock()
	h.gate.opening = true
	end := h.state.Expires
	h.mu.Unlock()
	r, err := h.m.read(ctx)
	if err != nil {
		return Report{}, err
	}
	claim := h.claimUntil(end)
	claim.Now, claim.Guard = r.date, nil
	report, err := h.m.config.Gate.Open(ctx, claim)
	if err == nil {
		h.mu.Lock()
		h.gate.open = true
		h.mu.Unlock()
	}
	return report, err
}

// left is how long the holder may still write, and longer than any step of the
// gate takes if the lease does not end by itself.
func (h *Held) left() time.Duration {
	end := h.Deadline()
	if end.IsZero() {
		return maxDuration
	}
	return max(0, end.Sub(h.m.config.Clock.Now()))
}

// step runs a step of the gate that takes d at most.
func step(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := f(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the gate took longer than %s: %w", d, err)
	}
	return err
}
