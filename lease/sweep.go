package lease

import "context"

// Sweep reads the lease, and lets the gate open what holders left closed that
// have it no more: who was killed, whose lease was broken, or whose write arrived
// late. It does not touch what belongs to whoever holds the lease now or acquires
// it meanwhile, so that anybody can call it at any time, without the lease.
// Without a gate it is Inspect.
//
// The State is valid beside an error of the gate. One API call, and the gate's.
func (m *Manager) Sweep(ctx context.Context) (State, Report, error) {
	const op = "sweep lease"
	r, err := m.read(ctx)
	if err != nil {
		return State{}, Report{}, m.fail(op, err)
	}
	s := m.state(r)
	report, err := m.sweep(ctx, m.leftover(r))
	if err != nil {
		return s, report, m.fail(op, err)
	}
	return s, report, nil
}

// sweep is Sweep for the claim of a lease that was just read.
func (m *Manager) sweep(ctx context.Context, c Claim) (Report, error) {
	if m.config.Gate == nil {
		return Report{}, nil
	}
	var report Report
	err := atGate(ctx, "sweep the gate", maxDuration, func(ctx context.Context) (err error) {
		report, err = m.config.Gate.Sweep(ctx, c)
		return err
	})
	return report, err
}
