package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// deadly is an operation that is killed at each of its steps.
type deadly struct {
	// held is whether the process holds a borrowed lease before.
	held bool
	do   func(context.Context, *process, *lease.Held, string) error
	// left checks what is left on the target: the lease, and what is closed.
	left func(*testing.T, lease.State, []lease.Claim)
	// again is what another process does about it at once, after which nobody
	// holds the lease and nothing is closed; nil if that takes time.
	again func(*testing.T, *process, string)
	// says is what the holder learns then.
	says string
}

// covered checks that what a record says to be borrowed is closed for as long.
func covered(t *testing.T, s lease.State, closed []lease.Claim) {
	t.Helper()
	if len(closed) != 1 || !s.Held || closed[0].Until.Before(s.Expires.Add(10*time.Second)) {
		t.Errorf("%+v, and closed is %+v", s, closed)
	}
}

// behindRecord checks that whatever is closed is that of the record.
func behindRecord(t *testing.T, s lease.State, closed []lease.Claim) {
	t.Helper()
	for _, c := range closed {
		if !s.Held || c.Holder != s.Holder || c.Token != s.Token {
			t.Errorf("%+v, and closed is %+v", s, c)
		}
	}
}

// released takes the lease up and gives it back.
func released(t *testing.T, p *process, holder string) {
	t.Helper()
	h, err := p.Resume(t.Context(), holder)
	if err == nil {
		err = h.Release(t.Context())
	}
	if err != nil && !errors.Is(err, lease.ErrLost) {
		t.Errorf("give it back: %v", err)
	}
	if _, _, err := p.Manager.Sweep(t.Context()); err != nil {
		t.Errorf("sweep: %v", err)
	}
}

var deadlies = map[string]deadly{
	"acquire": {
		do: func(ctx context.Context, p *process, _ *lease.Held, holder string) error {
			r := borrow
			r.Holder = holder
			_, err := p.Acquire(ctx, r)
			return err
		},
		left: behindRecord, again: released,
	},
	"renew": {
		held: true,
		do:   func(ctx context.Context, _ *process, h *lease.Held, _ string) error { return h.Renew(ctx) },
		left: covered, again: released,
	},
	"renew for": {
		held: true,
		do: func(ctx context.Context, _ *process, h *lease.Held, _ string) error {
			return h.RenewFor(ctx, time.Hour)
		},
		left: covered, again: released,
	},
	"renew for, and nobody looks after it": {
		held: true,
		do: func(ctx context.Context, _ *process, h *lease.Held, _ string) error {
			return h.RenewFor(ctx, time.Hour)
		},
		left: covered,
	},
	"acquire, and nobody looks after it": {
		do: func(ctx context.Context, p *process, _ *lease.Held, _ string) error {
			_, err := p.Acquire(ctx, borrow)
			return err
		},
		left: behindRecord,
	},
	"open": {
		held: true,
		do: func(ctx context.Context, _ *process, h *lease.Held, _ string) error {
			_, err := h.Open(ctx)
			return err
		},
		left: func(t *testing.T, s lease.State, closed []lease.Claim) {
			if !s.Held {
				t.Errorf("%+v, want it to be held", s)
			}
			behindRecord(t, s, closed)
		},
		again: released,
	},
	"release": {
		held: true,
		do:   func(ctx context.Context, _ *process, h *lease.Held, _ string) error { return h.Release(ctx) },
		left: behindRecord, again: released,
	},
	"break": {
		held: true,
		do: func(ctx context.Context, p *process, _ *lease.Held, _ string) error {
			_, err := p.Break(ctx, hotfix)
			return err
		},
		left: func(t *testing.T, s lease.State, closed []lease.Claim) {
			if !over(s) {
				covered(t, s, closed)
			}
		},
		again: func(t *testing.T, p *process, _ string) {
			if _, err := p.Break(t.Context(), hotfix); err != nil && !errors.Is(err, lease.ErrNotHeld) {
				t.Errorf("break it once more: %v", err)
			}
		},
		says: "ann@laptop broke it",
	},
}

// Whatever is killed at whatever step, before its effect or right after it: what
// stands closed is that of a record, what a record says to be borrowed is closed,
// and the next run leaves nothing.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, op := range deadlies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, late := range []bool{false, true} {
				for n := 1; ; n++ {
					if !w.kill(t, op, n, late) {
						if n < 3 {
							t.Errorf("it has %d steps", n-1)
						}
						break
					}
				}
			}
		})
	}
}

// kill kills an operation at its n-th step, and reports false if it has no such.
func (w *world) kill(t *testing.T, op deadly, n int, late bool) bool {
	t.Helper()
	d := newDoor()
	p, next := w.process(t, d), w.process(t, d)
	holder := fmt.Sprintf("HOLDER-%d-%t", n, late)
	var h *lease.Held
	if op.held {
		r := borrow
		r.Holder = holder
		h = acquire(t, p.Manager, r)
		w.pass(p, 5*time.Minute)
	}
	p.taken()
	p.dieAt, p.late = n, late
	err := op.do(t.Context(), p, h, holder)
	killed := p.dead
	if !p.dead && err != nil {
		t.Errorf("step %d: %v", n, err)
	}
	if p.dead && err == nil && !late {
		t.Errorf("step %d: it was killed, and says that it is done", n)
	}
	if p.dead {
		op.left(t, inspect(t, next.Manager), d.standing(w.server.Now()))
	}
	// Sweeping at any time takes nothing from who holds it.
	before := d.standing(w.server.Now())
	s, _, err := next.Manager.Sweep(t.Context())
	if err != nil {
		t.Errorf("step %d: %v", n, err)
	}
	if after := d.standing(s.Now); !over(s) && len(after) != len(before) || over(s) && len(after) > 0 {
		t.Errorf("step %d: %+v, and Sweep left %+v of %+v", n, s, after, before)
	}
	if op.again != nil {
		op.again(t, next, holder)
	} else if !s.Expires.IsZero() {
		w.server.advance(s.Expires.Add(6 * time.Second).Sub(s.Now))
		if _, _, err := next.Manager.Sweep(t.Context()); err != nil {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if s := inspect(t, next.Manager); !over(s) || len(d.closed) > 0 {
		t.Errorf("step %d (late: %t) left %+v, closed %+v", n, late, s, d.closed)
	}
	if h != nil {
		// The process was not killed after all, but cut off.
		p.dead, p.dieAt = false, 0
		err := h.Check(t.Context())
		if !errors.Is(err, lease.ErrLost) || op.says != "" && !strings.Contains(err.Error(), op.says) {
			t.Errorf("step %d: its holder learns %v", n, err)
		}
	}
	w.server.advance(time.Minute)
	return killed
}
