package lease

import (
	"context"
	"slices"
	"time"
)

// Looker is a Gate that tells what of it is closed.
type Looker interface {
	// Look returns what is closed for the claim's target, for whomever and whether or
	// not that is left over, and what was opened and is not done with. It writes
	// nothing. LeftOver is by the rule of Sweep.
	Look(ctx context.Context, c Claim) ([]Closed, error)
}

// Closed is something that a gate has closed.
type Closed struct {
	Name string `json:"name"` // for people, such as "AppProject argocd/shop"
	// Covers is what it keeps from being written to, as Claim.Covers.
	Covers []string `json:"covers,omitempty"`
	// Holder and Token are those of the lease that it was closed for.
	Holder string `json:"holder"`
	Token  int64  `json:"token"`
	// Until is when it opens by itself, or was opened.
	Until time.Time `json:"until"`
	// Opened says that it keeps nothing away any more, and stands for what is not
	// yet as it is declared.
	Opened bool `json:"opened,omitempty"`
	// LeftOver says that it is of no lease that is held: Sweep opens it.
	LeftOver bool `json:"leftOver,omitempty"`
	// Wrong is what is not as it was closed, one line each: somebody changed it.
	Wrong []string `json:"wrong,omitempty"`
}

// Look reads the lease, and looks what of its gate is closed. It writes nothing.
// The State is valid beside an error of the gate. Without a gate, and with one
// that is no Looker, it is Inspect. One API call, and the gate's.
func (m *Manager) Look(ctx context.Context) (State, []Closed, error) {
	const op = "look at lease"
	r, err := m.read(ctx)
	if err != nil {
		return State{}, nil, m.fail(op, err)
	}
	s := m.state(r)
	gate, ok := m.config.Gate.(Looker)
	if !ok {
		return s, nil, nil
	}
	closed, err := gate.Look(ctx, m.leftover(r))
	if err != nil {
		return s, nil, m.fail(op, &gateError{"look at the gate", err})
	}
	return s, closed, nil
}

// Exposed returns what of the lease's Covers nothing keeps from being written to,
// though it is held in mode borrow: its gate does not stand. It is for the State
// and the Closed of one Look, of a Manager with a gate.
func (s State) Exposed(closed []Closed) []string {
	if ranOut := !s.Expires.IsZero() && !s.Expires.After(s.Now); ranOut || s.over() || s.Mode != ModeBorrow {
		return nil // it is not to stand
	}
	return slices.DeleteFunc(slices.Clone(s.Covers), func(name string) bool {
		return slices.ContainsFunc(closed, func(c Closed) bool {
			return c.Holder == s.Holder && c.Token == s.Token && !c.Opened && !c.LeftOver && len(c.Wrong) == 0 && slices.Contains(c.Covers, name)
		})
	})
}

// DryRun says whether Acquire would acquire the lease now, and returns what it would
// cover: in mode borrow what the gate says, and else the very names. It writes
// nothing. Errors are those of Acquire, but that it does not look whether something
// is being written to what is covered. One API call, and those of the gate's
// Resolve.
func (m *Manager) DryRun(ctx context.Context, req Request) (covers []string, err error) {
	const op = "acquire lease"
	if err := req.check(m.config); err != nil {
		return nil, m.fail(op, err)
	}
	s, err := m.Inspect(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.Held:
		return nil, &HeldError{Target: m.config.Target, State: s, Now: s.Now}
	case !m.gates(req.Mode):
		return slices.Sorted(slices.Values(req.Covers)), nil
	}
	names, err := m.resolve(ctx, req.Covers)
	if err != nil {
		return nil, m.fail(op, err)
	}
	return names, nil
}
