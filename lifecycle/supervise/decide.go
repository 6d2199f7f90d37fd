package supervise

import (
	"cmp"
	"fmt"
	"time"
)

// Action is what follows a check.
type Action string

const (
	// None is nothing.
	None Action = ""
	// Wait is a restart, or the end of the budget, that is due at Policy.Next.
	Wait Action = "wait"
	// Restart is a restart, which the new state counts.
	Restart Action = "restart"
	// Park is the end of the budget: it is restarted no more from now on.
	Park Action = "park"
)

// Decide returns the state after a check, and what to do: the new state has to be
// stored before. It has no effects, and the same arguments give the same answer.
// Times are kept in UTC and to a millisecond; one that is still to come is taken for
// now, since a clock was set back.
func Decide(s State, o Observation, now time.Time, p Policy) (State, Action) {
	p = p.complete()
	now = stamp(now)
	s = s.plausible(now)
	if o.Revision != "" && s.Revision != "" && o.Revision != s.Revision {
		s = State{}
	}
	action := None
	if o.Failure == "" {
		s = s.succeeded(now, p)
	} else {
		s, action = s.failed(o, now, p)
	}
	return s.of(o.Revision), action
}

func (s State) succeeded(now time.Time, p Policy) State {
	s.Failures = 0
	if s.Restarts == 0 {
		return s
	}
	if s.HealthySince.IsZero() {
		s.HealthySince = now
	}
	if p.Refill > 0 && !s.IsParked() && now.Sub(s.HealthySince) >= p.Refill {
		return State{}
	}
	return s
}

func (s State) failed(o Observation, now time.Time, p Policy) (State, Action) {
	s.HealthySince = time.Time{}
	s.Failures = min(s.Failures+1, p.Failures)
	switch {
	case s.IsParked() || s.Failures < p.Failures:
		return s, None
	case now.Before(p.Next(s)):
		return s, Wait
	case s.Restarts >= p.Restarts:
		s.Parked = Parked{Reason: fmt.Sprintf("%s did not help: %s", counted(s.Restarts), brief(o.Failure)), Since: now}
		return s, Park
	}
	s.Failures, s.RestartedAt = 0, now
	s.Restarts++
	return s, Restart
}

func counted(restarts int) string {
	if restarts == 1 {
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", restarts)
}

// of says whose state it is, unless there is nothing to say.
func (s State) of(revision string) State {
	if revision == "" {
		revision = s.Revision
	}
	s.Revision = ""
	if s != (State{}) {
		s.Revision = revision
	}
	return s
}

// plausible is the state as this package could have made it by now.
func (s State) plausible(now time.Time) State {
	s = s.stamped()
	s.Failures, s.Restarts = max(s.Failures, 0), max(s.Restarts, 0)
	if s.IsParked() {
		s.Parked.Reason = cmp.Or(brief(s.Parked.Reason), "no reason is given")
	}
	for _, t := range []*time.Time{&s.RestartedAt, &s.HealthySince, &s.Parked.Since} {
		if t.After(now) {
			*t = now
		}
	}
	return s
}

// stamped has all times in the form in which they can be compared.
func (s State) stamped() State {
	s.RestartedAt, s.HealthySince, s.Parked.Since = stamp(s.RestartedAt), stamp(s.HealthySince), stamp(s.Parked.Since)
	return s
}

func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}
