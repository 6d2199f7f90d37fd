package lease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
)

// door is what the gates of several processes close: it keeps the contract of
// lease.Gate, and nothing else.
type door struct {
	mu     sync.Mutex
	names  []string
	closed []lease.Claim
}

func newDoor() *door { return &door{names: []string{"api", "db", "web"}} }

// standing returns what is closed at now.
func (d *door) standing(now time.Time) []lease.Claim {
	d.mu.Lock()
	defer d.mu.Unlock()
	var claims []lease.Claim
	for _, c := range d.closed {
		if now.Before(c.Until) {
			claims = append(claims, c)
		}
	}
	return claims
}

// reset opens it as somebody does who asks nobody.
func (d *door) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = nil
}

func (d *door) find(c lease.Claim) int {
	return slices.IndexFunc(d.closed, func(o lease.Claim) bool { return o.Holder == c.Holder && o.Token == c.Token })
}

func (d *door) resolve(covers []string) ([]string, error) {
	if len(covers) == 0 {
		return slices.Clone(d.names), nil
	}
	for _, name := range covers {
		if !slices.Contains(d.names, name) {
			return nil, fmt.Errorf("%w: the target has no %q", lease.ErrInvalid, name)
		}
	}
	return slices.Sorted(slices.Values(covers)), nil
}

func (d *door) close(c lease.Claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.find(c) < 0 {
		d.closed = append(d.closed, c)
	}
}

func (d *door) extend(c lease.Claim) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.find(c)
	if i < 0 || !slices.Equal(d.closed[i].Covers, c.Covers) {
		return fmt.Errorf("%w: mallory@desk removed what was closed", lease.ErrOpened)
	}
	if c.Until.After(d.closed[i].Until) {
		d.closed[i].Until = c.Until
	}
	return nil
}

// open opens what is left over, and says what.
func (d *door) open(over func(lease.Claim) bool) lease.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	var r lease.Report
	d.closed = slices.DeleteFunc(d.closed, func(o lease.Claim) bool {
		if !over(o) {
			return false
		}
		r.Opened = append(r.Opened, fmt.Sprintf("that of token %d", o.Token))
		for _, name := range o.Covers {
			r.Pending = append(r.Pending, lease.Pending{Name: name, Reason: "it was kept from syncing"})
		}
		return true
	})
	return r
}

// process is a gate, and the process that has it. It notes every step that the
// process takes outside of itself, and can kill it at each.
type process struct {
	*door
	*lease.Manager
	clock *clock

	mu    sync.Mutex
	steps []string
	// dieAt is the step at which it is killed, counted from 1; 0 is never. late
	// has that step's effect take place, and its answer be lost.
	dieAt int
	late  bool
	dead  bool
	// faults are what a step of the gate fails with, before it has any effect.
	faults map[string]func(context.Context, lease.Claim) error
}

var errKilled = errors.New("the process was killed")

// errDone says that a fault did what there was to do.
var errDone = errors.New("done")

// process returns one whose machine's clock jumps where it waits.
func (w *world) process(t *testing.T, d *door, change ...func(*lease.Config)) *process {
	t.Helper()
	p := &process{door: d, clock: newClock(), faults: map[string]func(context.Context, lease.Claim) error{}}
	p.clock.jumps = true
	config := w.config(p.clock)
	config.REST = p.wrap(config.REST)
	config.Gate = p
	for _, f := range change {
		f(&config)
	}
	p.Manager = manager(t, config)
	return p
}

func (p *process) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (resp *http.Response, err error) {
			err = p.step(r.Method, func() error {
				resp, err = next.RoundTrip(r)
				return err
			})
			if err != nil && resp != nil {
				_ = resp.Body.Close()
				resp = nil
			}
			return resp, err
		})
	})
	return config
}

func (p *process) step(name string, effect func() error) error {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return errKilled
	}
	p.steps = append(p.steps, name)
	dies := len(p.steps) == p.dieAt
	p.dead = dies
	p.mu.Unlock()
	if dies && !p.late {
		return errKilled
	}
	err := effect()
	if dies {
		return errKilled
	}
	return err
}

// gate is a step of the gate.
func (p *process) gate(ctx context.Context, name string, c lease.Claim, effect func() error) error {
	return p.step(name, func() error {
		p.mu.Lock()
		fault := p.faults[name]
		p.mu.Unlock()
		if fault != nil {
			switch err := fault(ctx, c); {
			case err == errDone:
				return nil
			case err != nil:
				return err
			}
		}
		return effect()
	})
}

// fail has a step of the gate fail from now on; with nil it does not any more.
func (p *process) fail(name string, fault func(context.Context, lease.Claim) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[name] = fault
}

// taken returns the steps since it was called last.
func (p *process) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	steps := p.steps
	p.steps = nil
	return steps
}

func (p *process) Resolve(ctx context.Context, covers []string) (names []string, err error) {
	err = p.gate(ctx, "resolve", lease.Claim{}, func() error {
		names, err = p.resolve(covers)
		return err
	})
	return names, err
}

func (p *process) Close(ctx context.Context, c lease.Claim) error {
	return p.gate(ctx, "close", c, func() error {
		if err := c.Guard(ctx); err != nil {
			return err
		}
		p.close(c)
		return nil
	})
}

func (p *process) Extend(ctx context.Context, c lease.Claim) error {
	return p.gate(ctx, "extend", c, func() error {
		if err := c.Guard(ctx); err != nil {
			return err
		}
		return p.extend(c)
	})
}

func (p *process) Open(ctx context.Context, c lease.Claim) (r lease.Report, err error) {
	err = p.gate(ctx, "open", c, func() error {
		r = p.open(func(o lease.Claim) bool { return o.Holder == c.Holder && o.Token == c.Token })
		return nil
	})
	return r, err
}

func (p *process) Sweep(ctx context.Context, c lease.Claim) (r lease.Report, err error) {
	err = p.gate(ctx, "sweep", c, func() error {
		r = p.open(func(o lease.Claim) bool {
			return o.Token < c.Token || o.Token == c.Token && o.Holder != c.Holder || !c.Now.Before(o.Until)
		})
		return nil
	})
	return r, err
}

var _ lease.Gate = (*process)(nil)
