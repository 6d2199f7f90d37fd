package supervise_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

var (
	noon    = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	well    = supervise.Observation{Revision: "1"}
	ill     = supervise.Observation{Revision: "1", Failure: "it answers 500"}
	next    = supervise.Observation{Revision: "2"}
	nextIll = supervise.Observation{Revision: "2", Failure: "it answers 502"}
)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func TestDecide(t *testing.T) {
	t.Parallel()
	parked := supervise.Parked{Reason: "5 restarts did not help: it answers 500", Since: at(0)}
	refill := supervise.Policy{Refill: 10 * time.Minute}
	for name, tt := range map[string]struct {
		was    supervise.State
		sees   supervise.Observation
		now    time.Time
		policy supervise.Policy
		want   supervise.State
		action supervise.Action
	}{
		"healthy and never restarted: nothing is kept": {sees: well},
		"the first failure is counted": {
			sees: ill, want: supervise.State{Revision: "1", Failures: 1}},
		"a success ends the row of failures": {
			was: supervise.State{Revision: "1", Failures: 1}, sees: well},
		"the second failure in a row is restarted": {
			was: supervise.State{Revision: "1", Failures: 1}, sees: ill,
			want: supervise.State{Revision: "1", Restarts: 1, RestartedAt: at(0)}, action: supervise.Restart},
		"the first failure is enough if the policy says so": {
			sees: ill, policy: supervise.Policy{Failures: 1},
			want: supervise.State{Revision: "1", Restarts: 1, RestartedAt: at(0)}, action: supervise.Restart},
		"a success gives nothing of the budget back": {
			was: supervise.State{Revision: "1", Failures: 1, Restarts: 3, RestartedAt: at(-60)}, sees: well,
			want: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-60), HealthySince: at(0)}},
		"nor do many": {
			was: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-600000), HealthySince: at(-500000)}, sees: well,
			want: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-600000), HealthySince: at(-500000)}},
		"a failure ends the time without failures": {
			was: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-60), HealthySince: at(-9)}, sees: ill, policy: refill,
			want: supervise.State{Revision: "1", Failures: 1, Restarts: 3, RestartedAt: at(-60)}},
		"it is not yet refilled": {
			was: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-60), HealthySince: at(-9)}, sees: well, policy: refill,
			want: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-60), HealthySince: at(-9)}},
		"it is refilled": {
			was: supervise.State{Revision: "1", Restarts: 3, RestartedAt: at(-60), HealthySince: at(-10)}, sees: well, policy: refill},
		"a restart waits for its pause": {
			was: supervise.State{Revision: "1", Failures: 1, Restarts: 3, RestartedAt: noon.Add(-39 * time.Second)}, sees: ill,
			want: supervise.State{Revision: "1", Failures: 2, Restarts: 3, RestartedAt: noon.Add(-39 * time.Second)}, action: supervise.Wait},
		"while it waits nothing changes": {
			was: supervise.State{Revision: "1", Failures: 2, Restarts: 3, RestartedAt: noon.Add(-39 * time.Second)}, sees: ill,
			want: supervise.State{Revision: "1", Failures: 2, Restarts: 3, RestartedAt: noon.Add(-39 * time.Second)}, action: supervise.Wait},
		"and comes after it": {
			was: supervise.State{Revision: "1", Failures: 2, Restarts: 3, RestartedAt: noon.Add(-40 * time.Second)}, sees: ill,
			want: supervise.State{Revision: "1", Restarts: 4, RestartedAt: at(0)}, action: supervise.Restart},
		"the last restart has its time, too": {
			was: supervise.State{Revision: "1", Failures: 1, Restarts: 5, RestartedAt: at(-2)}, sees: ill,
			want: supervise.State{Revision: "1", Failures: 2, Restarts: 5, RestartedAt: at(-2)}, action: supervise.Wait},
		"a budget that is used up parks": {
			was: supervise.State{Revision: "1", Failures: 1, Restarts: 5, RestartedAt: at(-60)}, sees: ill,
			want:   supervise.State{Revision: "1", Failures: 2, Restarts: 5, RestartedAt: at(-60), Parked: parked},
			action: supervise.Park},
		"so does one that was larger before": {
			was: supervise.State{Revision: "1", Failures: 1, Restarts: 3, RestartedAt: at(-60)}, sees: ill, policy: supervise.Policy{Restarts: 1},
			want: supervise.State{Revision: "1", Failures: 2, Restarts: 3, RestartedAt: at(-60),
				Parked: supervise.Parked{Reason: "3 restarts did not help: it answers 500", Since: at(0)}},
			action: supervise.Park},
		"what is parked keeps its reason": {
			was:  supervise.State{Revision: "1", Failures: 2, Restarts: 5, RestartedAt: at(-60), Parked: parked},
			sees: supervise.Observation{Failure: "something else"}, now: at(1),
			want: supervise.State{Revision: "1", Failures: 2, Restarts: 5, RestartedAt: at(-60), Parked: parked}},
		"what is parked stays so when it is well": {
			was: supervise.State{Revision: "1", Failures: 2, Restarts: 5, RestartedAt: at(-60), Parked: parked}, sees: well, now: at(1), policy: refill,
			want: supervise.State{Revision: "1", Restarts: 5, RestartedAt: at(-60), HealthySince: at(1), Parked: parked}},
		"and when it has been for long": {
			was: supervise.State{Revision: "1", Restarts: 5, RestartedAt: at(-60), HealthySince: at(1), Parked: parked}, sees: well, now: at(100), policy: refill,
			want: supervise.State{Revision: "1", Restarts: 5, RestartedAt: at(-60), HealthySince: at(1), Parked: parked}},
		"a new delivery that is well": {
			was: supervise.State{Revision: "1", Restarts: 5, RestartedAt: at(-60), Parked: parked}, sees: next},
		"a new delivery that fails": {
			was: supervise.State{Revision: "1", Failures: 2, Restarts: 5, RestartedAt: at(-60), Parked: parked}, sees: nextIll,
			want: supervise.State{Revision: "2", Failures: 1}},
		"what is not known is no new delivery": {
			was:  supervise.State{Revision: "1", Restarts: 5, RestartedAt: at(-60), Parked: parked},
			sees: supervise.Observation{Failure: "it answers 500"},
			want: supervise.State{Revision: "1", Failures: 1, Restarts: 5, RestartedAt: at(-60), Parked: parked}},
		"what is parked by hand is so until the next delivery": {
			was: supervise.State{Parked: supervise.Parked{Reason: "ada looks at it"}}, sees: ill,
			want: supervise.State{Revision: "1", Failures: 1, Parked: supervise.Parked{Reason: "ada looks at it"}}},
		"a reason is a line, and never none": {
			was: supervise.State{Parked: supervise.Parked{Reason: " \n "}}, sees: ill,
			want: supervise.State{Revision: "1", Failures: 1, Parked: supervise.Parked{Reason: "no reason is given"}}},
		"times that are still to come are taken for now": {
			was: supervise.State{Revision: "1", Failures: 1, Restarts: 1, RestartedAt: at(1000000), HealthySince: at(1000000)}, sees: well, policy: refill,
			want: supervise.State{Revision: "1", Restarts: 1, RestartedAt: at(0), HealthySince: at(0)}},
		"numbers that cannot be": {
			was: supervise.State{Failures: -7, Restarts: -7}, sees: ill, policy: supervise.Policy{Failures: -1, Restarts: -1, LongestPause: -1},
			want: supervise.State{Revision: "1", Failures: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.now.IsZero() {
				tt.now = noon
			}
			got, action := supervise.Decide(tt.was, tt.sees, tt.now, tt.policy)
			if got != tt.want || action != tt.action {
				t.Errorf("got  %+v, %q\nwant %+v, %q", got, action, tt.want, tt.action)
			}
		})
	}
}

func TestPauseDoubles(t *testing.T) {
	t.Parallel()
	for policy, want := range map[supervise.Policy][]time.Duration{
		{}: {10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute},
		{Pause: time.Second, LongestPause: 3 * time.Second}: {time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second},
		{Pause: time.Hour, LongestPause: time.Minute}:       {time.Minute, time.Minute},
		{Pause: -1}: {0, 0},
	} {
		for i, w := range want {
			if got := policy.Next(supervise.State{Restarts: i + 1, RestartedAt: noon}).Sub(noon); got != w {
				t.Errorf("%+v, after restart %d: %s, want %s", policy, i+1, got, w)
			}
		}
		if got := policy.Next(supervise.State{Restarts: 1 << 40, RestartedAt: noon}).Sub(noon); got != want[len(want)-1] {
			t.Errorf("%+v, after many restarts: %s", policy, got)
		}
	}
}

func TestReasonIsALine(t *testing.T) {
	t.Parallel()
	was := supervise.State{Failures: 1, Restarts: 1, RestartedAt: at(-60)}
	s, _ := supervise.Decide(was, supervise.Observation{Failure: "a\n\tb \xff" + strings.Repeat("ä", 2000)}, noon, supervise.Policy{Restarts: 1})
	if r := s.Parked.Reason; !strings.HasPrefix(r, "1 restart did not help: a b ?ää") || !strings.HasSuffix(r, "ä…") || len(r) > 1100 {
		t.Errorf("got %q", r)
	}
}

// ledger counts what happens to a thing, as the package comment says it, without
// looking at how it is kept.
type ledger struct {
	policy             supervise.Policy
	restarts, failures int
	parked             bool
	calm               time.Time // since when nothing has failed
}

// check holds a decision against the ledger.
func (l *ledger) check(o supervise.Observation, fresh bool, now time.Time, s supervise.State, a supervise.Action) error {
	if fresh {
		*l = ledger{policy: l.policy}
	}
	if o.Failure == "" {
		l.failures = 0
		if l.calm.IsZero() {
			l.calm = now
		}
		if l.policy.Refill > 0 && !l.parked && now.Sub(l.calm) >= l.policy.Refill {
			l.restarts = 0
		}
	} else {
		l.failures++
		l.calm = time.Time{}
	}
	switch a {
	case supervise.Restart:
		l.restarts++
		switch {
		case l.parked:
			return fmt.Errorf("what is parked is restarted")
		case l.failures < l.policy.Failures:
			return fmt.Errorf("it is restarted after %d failures", l.failures)
		case l.restarts > l.policy.Restarts:
			return fmt.Errorf("it is restarted for the %d. time", l.restarts)
		}
		l.failures = 0
	case supervise.Park:
		if l.parked || l.restarts != l.policy.Restarts || l.failures < l.policy.Failures {
			return fmt.Errorf("it is parked after %d restarts and %d failures", l.restarts, l.failures)
		}
		l.parked = true
	case supervise.None, supervise.Wait:
		if l.policy.Pause < 0 && !l.parked && l.failures >= l.policy.Failures {
			return fmt.Errorf("nothing follows %d failures", l.failures)
		}
	}
	if s.IsParked() != l.parked || s.Restarts != l.restarts {
		return fmt.Errorf("the state is %+v after %d restarts, parked: %t", s, l.restarts, l.parked)
	}
	return nil
}

// Every sequence of eight things that can happen: a check that succeeds or fails, a
// new delivery that is well or fails, a person. The clock jumps.
func TestNeverMoreThanTheBudget(t *testing.T) {
	t.Parallel()
	p := supervise.Policy{Failures: 2, Restarts: 2, Pause: -1}
	steps := 0
	var walk func(s supervise.State, l ledger, revision, depth int, path string)
	walk = func(s supervise.State, l ledger, revision, depth int, path string) {
		if depth == 0 || t.Failed() {
			return
		}
		for _, what := range "ofOFu" {
			s, l, revision := s, l, revision
			fresh := what == 'O' || what == 'F'
			if fresh {
				revision++
			}
			if what == 'u' { // what Unpark stores
				walk(supervise.State{}, ledger{policy: p}, revision, depth-1, path+"u")
				continue
			}
			o := supervise.Observation{Revision: fmt.Sprint(revision)}
			if what == 'f' || what == 'F' {
				o.Failure = "it fails"
			}
			steps++
			next, action := supervise.Decide(s, o, at(steps%7), p)
			if err := l.check(o, fresh, at(0), next, action); err != nil {
				t.Errorf("%s%c: %v", path, what, err)
				return
			}
			walk(next, l, revision, depth-1, path+string(what))
		}
	}
	walk(supervise.State{}, ledger{policy: p}, 1, 8, "")
	t.Logf("%d decisions", steps)
}

// Long lives under all kinds of policies, with their pauses and refills.
func TestNeverMoreThanTheBudgetInALongLife(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := supervise.Policy{Failures: 1 + r.IntN(4), Restarts: 1 + r.IntN(7), Pause: time.Duration(r.IntN(60)-1) * time.Second}
		if p.Pause == 0 {
			p.Pause = time.Second
		}
		if r.IntN(2) == 0 {
			p.Refill = time.Duration(1+r.IntN(600)) * time.Second
		}
		sick := r.Float64()
		var s supervise.State
		l, now, revision := ledger{policy: p}, noon, 1
		for range 1000 {
			now = now.Add(time.Duration(r.IntN(30000)) * time.Millisecond)
			if s.IsParked() && r.IntN(20) == 0 {
				s, l = supervise.State{}, ledger{policy: p}
			}
			fresh := r.IntN(100) == 0
			if fresh {
				revision++
			}
			o := supervise.Observation{Revision: fmt.Sprint(revision)}
			if r.Float64() < sick {
				o.Failure = "it fails"
			}
			was := s
			var a supervise.Action
			s, a = supervise.Decide(was, o, now, p)
			if err := l.check(o, fresh, now.Truncate(time.Millisecond), s, a); err != nil {
				t.Fatalf("seed %d, %+v: %+v, %+v → %+v: %v", seed, p, was, o, s, err)
			}
			if a == supervise.Restart && !fresh && now.Before(p.Next(was)) {
				t.Fatalf("seed %d: restarted at %s, before %s", seed, now, p.Next(was))
			}
		}
	}
}

// Whatever is stored and whatever the clock says: nothing panics, nothing is
// restarted beyond the budget, and what is decided can be stored.
func FuzzDecide(f *testing.F) {
	f.Add("1", 1, 5, int64(0), int64(0), "", "2", "it fails", int64(1), 2, 5, int64(0), int64(10))
	f.Add("", -1, -5, int64(1<<62), int64(-1<<62), "parked", "", "\xff", int64(-1), -2, -5, int64(-1), int64(-10))
	f.Fuzz(func(t *testing.T, revision string, failures, restarts int, restarted, healthy int64, reason string,
		seen, failure string, now int64, most, budget int, refill, pause int64) {
		was := supervise.State{Revision: revision, Failures: failures, Restarts: restarts,
			RestartedAt: noon.Add(time.Duration(restarted)), HealthySince: noon.Add(time.Duration(healthy)), Parked: supervise.Parked{Reason: reason}}
		p := supervise.Policy{Failures: most, Restarts: budget, Refill: time.Duration(refill), Pause: time.Duration(pause)}
		o := supervise.Observation{Revision: seen, Failure: failure}
		is, a := supervise.Decide(was, o, noon.Add(time.Duration(now)), p)
		if again, b := supervise.Decide(was, o, noon.Add(time.Duration(now)), p); again != is || a != b {
			t.Errorf("twice the same gives %+v, %q and %+v, %q", is, a, again, b)
		}
		if a == supervise.Restart {
			if is.IsParked() || failure == "" || budget > 0 && is.Restarts > budget || budget <= 0 && is.Restarts > 5 {
				t.Errorf("%+v, %+v: restarted to %+v", was, o, is)
			}
		}
		data, err := supervise.Encode(is)
		if err != nil {
			return // a revision that is no UTF-8
		}
		if back, err := supervise.Decode(data); err != nil || back != is {
			t.Errorf("%+v is stored as %s and read as %+v, %v", is, data, back, err)
		}
	})
}
