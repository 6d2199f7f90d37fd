package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// WatchConfig says how often Watch looks, and who hears of it.
type WatchConfig struct {
	// Every is how long it sleeps at most. The default is 1 min.
	Every time.Duration
	// Soon is how long it sleeps after a pass that failed, or that found something
	// which is to become as it is declared by itself: twice as long after each
	// further one, up to Every. The default is 5 s, or Every if that is less.
	Soon time.Duration
	// Timeout bounds one pass. The default is 3 min.
	Timeout time.Duration
	// Observed is told what each pass came to: what Sweep returned. It is called
	// by Watch itself, which goes on when it returns. The default discards it.
	Observed func(State, Report, error)
}

// complete fills in the defaults and reports every rule that is broken.
func (c WatchConfig) complete() (WatchConfig, error) {
	c.Every = cmp.Or(c.Every, time.Minute)
	c.Soon = cmp.Or(c.Soon, min(5*time.Second, c.Every))
	c.Timeout = cmp.Or(c.Timeout, 3*time.Minute)
	var errs []error
	for _, d := range []struct {
		name string
		time.Duration
	}{{"Every", c.Every}, {"Soon", c.Soon}, {"Timeout", c.Timeout}} {
		if d.Duration < 0 {
			errs = append(errs, fmt.Errorf("%s is %s, want more than 0", d.name, d.Duration))
		}
	}
	if c.Soon > c.Every {
		errs = append(errs, fmt.Errorf("%s is %s, want at most Every, which is %s", "Soon", c.Soon, c.Every))
	}
	if c.Observed == nil {
		c.Observed = func(State, Report, error) {}
	}
	if len(errs) > 0 {
		return WatchConfig{}, fmt.Errorf("lease: %w WatchConfig: %w", ErrInvalid, errors.Join(errs...))
	}
	return c, nil
}

// Watch sweeps again and again, so that what a holder left closed who is gone is
// open, and what it covered is as declared, soon after the lease ended: it looks
// right after the end and the grace, and else every minute. Each pass begins with
// what then is on the target, so that several may watch one target, and another
// one goes on where one was killed. A pass that fails is told and repeated.
//
// It returns nil when ctx has ended, and ErrInvalid at once for a WatchConfig that
// breaks a rule. One API call for each pass, and those of the gate's Sweep.
func (m *Manager) Watch(ctx context.Context, c WatchConfig) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	unsettled := 0
	for {
		s, report, err := m.pass(ctx, c.Timeout)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		c.Observed(s, report, err)
		if err != nil || slices.ContainsFunc(report.Pending, func(p Pending) bool { return !p.Failed }) {
			unsettled++
		} else {
			unsettled = 0
		}
		if m.sleep(ctx, min(c.pause(unsettled), m.untilFree(s))) != nil {
			return nil
		}
	}
}

// pass is one Sweep, which ends in time.
func (m *Manager) pass(ctx context.Context, timeout time.Duration) (State, Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %s", timeout))
	defer cancel()
	return m.Sweep(ctx)
}

// pause is how long to sleep after so many passes in a row that left something
// to do.
func (c WatchConfig) pause(unsettled int) time.Duration {
	if unsettled == 0 {
		return c.Every
	}
	d := c.Soon
	for range unsettled - 1 {
		if d >= c.Every/2 {
			return c.Every
		}
		d *= 2
	}
	return d
}

// untilFree is how long it takes until others may acquire a lease: more than a
// second while it is held, since the server cuts its times to seconds.
func (m *Manager) untilFree(s State) time.Duration {
	if !s.Held || s.Expires.IsZero() {
		return maxDuration
	}
	return s.Expires.Add(m.config.Grace + time.Second).Sub(s.Now)
}
