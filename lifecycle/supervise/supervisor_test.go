package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// patient is a thing that does what a test wants. Its zero value is healthy.
type patient struct {
	failure  atomic.Pointer[supervise.Observation]
	unknown  error // of Check
	stubborn error // of Restart
	checks   atomic.Int32
	restarts atomic.Int32
}

func (p *patient) is(o supervise.Observation) { p.failure.Store(&o) }

func (p *patient) Check(ctx context.Context) (supervise.Observation, error) {
	p.checks.Add(1)
	if o := p.failure.Load(); o != nil && p.unknown == nil {
		return *o, ctx.Err()
	}
	return supervise.Observation{}, p.unknown
}

func (p *patient) Restart(context.Context) error {
	p.restarts.Add(1)
	return p.stubborn
}

func newFile(t *testing.T) *supervise.File {
	t.Helper()
	f, err := supervise.NewFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newSupervisor(t *testing.T, c supervise.Config) *supervise.Supervisor {
	t.Helper()
	s, err := supervise.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hasty has no pauses.
var hasty = supervise.Policy{Pause: -1}

func TestParksAndUnparks(t *testing.T) {
	t.Parallel()
	thing, store := &patient{}, newFile(t)
	thing.is(ill)
	var actions []supervise.Action
	for range 14 {
		// Each step is that of a process of its own.
		r, err := newSupervisor(t, supervise.Config{Thing: thing, Store: store, Policy: hasty}).Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, r.Action)
	}
	if got := fmt.Sprintf("%q", actions); got != `["" "restart" "" "restart" "" "restart" "" "restart" "" "restart" "" "park" "" ""]` {
		t.Errorf("it did %s", got)
	}
	s, _, err := store.Load(t.Context())
	if err != nil || s.Parked.Reason != "5 restarts did not help: it answers 500" || thing.restarts.Load() != 5 {
		t.Errorf("after %d restarts: %+v, %v", thing.restarts.Load(), s, err)
	}

	supervisor := newSupervisor(t, supervise.Config{Thing: thing, Store: store, Policy: hasty})
	if err := supervisor.Unpark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, _, err := store.Load(t.Context()); err != nil || s != (supervise.State{}) {
		t.Errorf("unparked: %+v, %v", s, err)
	}
	if err := supervisor.Unpark(t.Context()); err != nil {
		t.Errorf("unparked twice: %v", err)
	}
	for range 20 {
		if _, err := supervisor.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if thing.restarts.Load() != 10 {
		t.Errorf("%d restarts, want as many again", thing.restarts.Load())
	}
	thing.is(nextIll)
	for range 20 {
		if _, err := supervisor.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s, _, err := store.Load(t.Context()); err != nil || thing.restarts.Load() != 15 || s.Parked.Reason != "5 restarts did not help: it answers 502" {
		t.Errorf("after a new delivery: %d restarts, %+v, %v", thing.restarts.Load(), s, err)
	}
}

func TestWhatCannotBeToldIsNoFailure(t *testing.T) {
	t.Parallel()
	thing, store := &patient{unknown: errors.New("the server does not answer")}, newFile(t)
	s := newSupervisor(t, supervise.Config{Thing: thing, Store: store, Policy: hasty})
	for range 5 {
		r, err := s.Step(t.Context())
		if !errors.Is(err, thing.unknown) || r.Action != supervise.None {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	if s, _, err := store.Load(t.Context()); err != nil || s != (supervise.State{}) || thing.restarts.Load() != 0 {
		t.Errorf("%d restarts, %+v, %v", thing.restarts.Load(), s, err)
	}
}

func TestRestartThatFailsIsCounted(t *testing.T) {
	t.Parallel()
	thing, store := &patient{stubborn: errors.New("the port is in use")}, newFile(t)
	thing.is(ill)
	s := newSupervisor(t, supervise.Config{Thing: thing, Store: store, Policy: hasty})
	failed := 0
	for range 20 {
		r, err := s.Step(t.Context())
		if (r.Action == supervise.Restart) != errors.Is(err, thing.stubborn) {
			t.Errorf("got %+v, %v", r, err)
		}
		if err != nil {
			failed++
			if want := fmt.Sprintf("restart %d: the port is in use", failed); err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		}
	}
	if failed != 5 || thing.restarts.Load() != 5 {
		t.Errorf("%d failed of %d", failed, thing.restarts.Load())
	}
}

// written is a store to which somebody else writes between Load and Save.
type written struct {
	supervise.Store
	by    func()
	saves int
}

func (w *written) Save(ctx context.Context, s supervise.State, version string) error {
	w.saves++
	w.by()
	return w.Store.Save(ctx, s, version)
}

func TestConflict(t *testing.T) {
	t.Parallel()
	thing, file := &patient{}, newFile(t)
	thing.is(ill)
	others, saved := 0, 0
	w := &written{Store: file, by: func() {
		if others == 0 {
			return
		}
		others--
		saved++
		_, version, err := file.Load(t.Context())
		if err == nil {
			err = file.Save(t.Context(), supervise.State{Revision: "1", Failures: 1, Restarts: saved, RestartedAt: at(0)}, version)
		}
		if err != nil {
			t.Error(err)
		}
	}}
	s := newSupervisor(t, supervise.Config{Thing: thing, Store: w, Policy: hasty})

	// What others have written counts: the step that meets it begins anew.
	others = 1
	r, err := s.Step(t.Context())
	if err != nil || r.Action != supervise.Restart || r.State.Restarts != 2 || w.saves != 2 || thing.checks.Load() != 2 {
		t.Errorf("got %+v, %v after %d writes and %d checks", r, err, w.saves, thing.checks.Load())
	}
	others, w.saves = 100, 0
	if r, err := s.Step(t.Context()); !errors.Is(err, supervise.ErrConflict) || r.Action != supervise.None || w.saves != 5 {
		t.Errorf("got %+v, %v after %d writes", r, err, w.saves)
	}
	if err := s.Unpark(t.Context()); !errors.Is(err, supervise.ErrConflict) {
		t.Errorf("unpark: %v", err)
	}
	if thing.restarts.Load() != 1 {
		t.Errorf("%d restarts, want that of the first step", thing.restarts.Load())
	}
}

// Several supervisors share the budget of one thing, however they meet.
func TestSeveralSupervisorsShareTheBudget(t *testing.T) {
	t.Parallel()
	thing, dir := &patient{}, t.TempDir()
	thing.is(ill)
	var parked atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			store, err := supervise.NewFile(dir)
			if err != nil {
				t.Error(err)
				return
			}
			s, err := supervise.New(supervise.Config{Thing: thing, Store: store, Policy: hasty})
			if err != nil {
				t.Error(err)
				return
			}
			for range 40 {
				r, err := s.Step(t.Context())
				if err != nil && !errors.Is(err, supervise.ErrConflict) {
					t.Error(err)
				}
				if r.Action == supervise.Park {
					parked.Add(1)
				}
			}
		})
	}
	all.Wait()
	if thing.restarts.Load() != 5 || parked.Load() != 1 {
		t.Errorf("%d restarts, parked %d times", thing.restarts.Load(), parked.Load())
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := supervise.New(supervise.Config{Every: -1, Policy: supervise.Policy{Failures: -1, Restarts: -1, Refill: -1, LongestPause: -1}})
	if !errors.Is(err, supervise.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"Failures", "Restarts", "Refill", "LongestPause", "Thing and Store", "Every"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

// Run looks again and again, also after a step that failed, and leaves nothing.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thing, store := &patient{}, newFile(t)
		thing.is(ill)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		began := time.Now()
		var told []string
		s := newSupervisor(t, supervise.Config{Thing: thing, Store: store, Observed: func(r supervise.Report, err error) {
			if r.Action == supervise.Restart || r.Action == supervise.Park || err != nil {
				told = append(told, fmt.Sprintf("%s %s %v", time.Since(began), r.Action, err))
			}
			if r.Action == supervise.Park {
				stop()
			}
			thing.unknown = nil
			if len(told) == 1 {
				thing.unknown = errors.New("it cannot be told")
			}
		}})
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{"10s restart <nil>", "20s  check: it cannot be told", "40s restart <nil>", "1m0s restart <nil>",
			"1m40s restart <nil>", "3m0s restart <nil>", "5m40s park <nil>"}
		if fmt.Sprintf("%q", told) != fmt.Sprintf("%q", want) {
			t.Errorf("told %q\nwant %q", told, want)
		}
	})
}

// stuck is a thing whose check never answers.
type stuck struct{ patient }

func (*stuck) Check(ctx context.Context) (supervise.Observation, error) {
	<-ctx.Done()
	return supervise.Observation{}, context.Cause(ctx)
}

func TestRunBoundsAStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var told error
		s := newSupervisor(t, supervise.Config{Thing: &stuck{}, Store: newFile(t), Observed: func(_ supervise.Report, err error) {
			told = err
			stop()
		}})
		began := time.Now()
		if err := s.Run(ctx); err != nil || told == nil || !strings.Contains(told.Error(), "longer than 1m0s") || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v, told %v", time.Since(began), err, told)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		told = nil
		if err := s.Run(ended); err != nil || told != nil {
			t.Errorf("a context that has ended: %v, told %v", err, told)
		}
	})
}
