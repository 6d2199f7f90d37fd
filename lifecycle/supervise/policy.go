package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Policy has the numbers of a restart budget. The zero value has all defaults.
type Policy struct {
	// Failures is how many checks in a row have to fail before something is
	// restarted, or parked. The default is 2.
	Failures int
	// Restarts is the budget: how often something is restarted until somebody
	// intervenes. The default is 5.
	Restarts int
	// Refill is for how long every check has to succeed until the budget is full
	// again. The default, zero, is never: five restarts in a year are a finding, too.
	//
	// It is a time without failures, as in kubelet, which forgets what a container
	// has crashed when it has run for ten minutes, and not a window of time over the
	// restarts, as in systemd (StartLimitBurst=5 in StartLimitIntervalSec=10) or in
	// Erlang's supervisors (intensity and period). What fails slowly, or with growing
	// pauses in between, has each restart leave such a window before the last one
	// enters it, and is restarted for ever.
	//
	// A time in which nobody looked counts as one in which nothing failed. What is
	// parked stays so, as systemd wants a reset-failed, and Erlang leaves it to who
	// is above.
	Refill time.Duration
	// Pause is how long after a restart the next one, or the end of the budget, comes
	// at the earliest. It doubles with each further restart, up to LongestPause. The
	// default is 10 s, as in kubelet; less than zero is none.
	Pause time.Duration
	// LongestPause bounds Pause. The default is 5 min, as in kubelet.
	LongestPause time.Duration
}

// complete fills in the defaults. Numbers that cannot be are none.
func (p Policy) complete() Policy {
	p.Failures = cmp.Or(max(p.Failures, 0), 2)
	p.Restarts = cmp.Or(max(p.Restarts, 0), 5)
	p.Pause = cmp.Or(p.Pause, 10*time.Second)
	p.LongestPause = cmp.Or(max(p.LongestPause, 0), 5*time.Minute)
	return p
}

// check reports every rule that is broken.
func (p Policy) check() error {
	var errs []error
	for _, n := range []struct {
		name string
		is   int64
	}{{"Failures", int64(p.Failures)}, {"Restarts", int64(p.Restarts)}, {"Refill", int64(p.Refill)}, {"LongestPause", int64(p.LongestPause)}} {
		if n.is < 0 {
			errs = append(errs, fmt.Errorf("the policy's %s is less than zero", n.name))
		}
	}
	return errors.Join(errs...)
}

// Next is the earliest time at which something in this state is restarted again, or
// parked. It is zero for what was not restarted.
func (p Policy) Next(s State) time.Time {
	p = p.complete()
	if s.Restarts <= 0 || p.Pause < 0 {
		return s.RestartedAt
	}
	pause := min(p.Pause, p.LongestPause)
	for range s.Restarts - 1 {
		if pause > p.LongestPause/2 {
			pause = p.LongestPause
			break
		}
		pause *= 2
	}
	return s.RestartedAt.Add(pause)
}
