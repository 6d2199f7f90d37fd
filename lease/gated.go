package lease

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// gates says whether a lease of that mode closes a gate.
func (m *Manager) gates(mode Mode) bool { return m.config.Gate != nil && mode == ModeBorrow }

// gated says whether the gate is to be looked after.
func (h *Held) gated() bool { return h.m.gates(h.mode) }

// claim says to the gate whose lease it is, without an end.
func (m *Manager) claim(s State) Claim {
	return Claim{
		Namespace: m.config.Namespace, Name: m.config.Name, Target: m.config.Target,
		Holder: s.Holder, Token: s.Token, User: s.User, Purpose: s.Purpose, Covers: slices.Clone(s.Covers), Now: s.Now,
	}
}

// leftover is the claim of whoever has the lease: what is closed for anybody else
// is left over. Where there is no Lease, that is all which is not of one that was
// created since, by an API server whose clock may be behind.
func (m *Manager) leftover(r reading) Claim {
	s := m.state(r)
	c := m.claim(s)
	switch {
	case r.lease == nil:
		c.Token = firstToken(s.Now.Add(-m.config.Grace)) - 1
	case s.over():
		c.Holder = ""
	}
	return c
}

// claimAt is the claim of this holder at now, for a lease that ends at end: the
// gate opens by itself a grace after others may acquire it, so that a sweep comes
// before.
func (h *Held) claimAt(now, end time.Time) Claim {
	c := h.claim
	c.Covers, c.Now, c.Guard = slices.Clone(c.Covers), now, h.Check
	if !end.IsZero() {
		c.Until = end.Add(2*h.m.config.Grace + time.Second - 1).Truncate(time.Second)
	}
	return c
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

// gateError is an error of the gate: what is advised about the lease's own API
// calls is no answer to it.
type gateError struct {
	op  string // "close the gate"
	err error
}

func (e *gateError) Error() string { return e.op + ": " + e.err.Error() }
func (e *gateError) Unwrap() error { return e.err }

// atGate runs a step of the gate, which takes d at most.
func atGate(ctx context.Context, op string, d time.Duration, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := f(bounded)
	if err == nil {
		return nil
	}
	if bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %s: %w", d, err)
	}
	return &gateError{op, err}
}
