package lease

import "context"

// gateState says how far a holder is with opening its gate.
type gateState struct {
	opening bool // it began to, or will: that the gate does not stand any more is no loss
	open    bool // and it has
}

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

// WillOpen says that the gate is about to be opened: from here on renewals move the
// record alone, and that the gate does not stand any more is no loss. Who hands back
// calls it before Keep: a hand-back that was killed before it, or somebody else, may
// have opened the gate already. No API call.
func (h *Held) WillOpen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate.opening = true
}

// Open opens the gate while the lease is still held, so that its holder can wait
// under it until what was kept away has come back: see Report.Pending. From then
// on renewals move the record alone. It may be called again, also when the lease
// is lost: what was closed for this holder is closed for nobody else. Without a
// gate, and in other modes than borrow, it does nothing. One API call, and the
// gate's.
func (h *Held) Open(ctx context.Context) (Report, error) {
	const op = "open lease"
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
	r, err := h.m.read(ctx)
	if err != nil {
		return Report{}, err
	}
	claim := h.claimAt(r.date, h.State().Expires)
	claim.Guard = nil
	h.WillOpen()
	var report Report
	err = atGate(ctx, "open the gate", maxDuration, func(ctx context.Context) (err error) {
		report, err = h.m.config.Gate.Open(ctx, claim)
		return err
	})
	h.mu.Lock()
	h.gate.open = err == nil
	h.mu.Unlock()
	return report, err
}
