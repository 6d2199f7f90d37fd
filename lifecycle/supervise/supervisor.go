package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Thing is what is supervised: a process, a workload. It is used by as many
// goroutines at once as use its Supervisor.
type Thing interface {
	// Check looks once whether it is healthy. An error says that this cannot be
	// told, and is not a failure: a check that has to answer in time counts the time
	// itself. It is called again when somebody else has written meanwhile.
	Check(ctx context.Context) (Observation, error)
	// Restart restarts it, and need not wait until it is healthy. One that fails is
	// counted, too: what Check says next is what counts.
	Restart(ctx context.Context) error
}

// Store keeps one State. It is used by as many goroutines at once as use its
// Supervisor, and by other processes.
type Store interface {
	// Load returns the state, the zero State if there is none, and the version under
	// which it may be replaced. What cannot be read is ErrDamaged.
	Load(ctx context.Context) (s State, version string, err error)
	// Save replaces what Load returned with this version, durably, and keeps nothing
	// for the zero State. If something else is stored by now it changes nothing, and
	// the error matches ErrConflict.
	Save(ctx context.Context, s State, version string) error
}

// Clock is a machine's clock.
type Clock interface {
	Now() time.Time
	// After sends the time when d has passed.
	After(d time.Duration) <-chan time.Time
}

// Config says what is supervised, and how.
type Config struct {
	// Thing is supervised. Required.
	Thing Thing
	// Store keeps its state. Required.
	Store Store
	// Policy is the budget. The default is that of the zero value.
	Policy Policy
	// Every is how long Run waits between two steps. The default is 10 s.
	Every time.Duration
	// Timeout bounds each step of Run. The default is 1 min.
	Timeout time.Duration
	// Observed is told what each step of Run came to: what Step returned. Run goes on
	// when it returns. The default discards it.
	Observed func(Report, error)
	// Clock tells the time, also that of other processes that share the Store. The
	// default is this machine's.
	Clock Clock
}

// Report is what a step came to.
type Report struct {
	// State is what is stored.
	State State
	// Observation is what the check saw.
	Observation Observation
	// Action is what followed.
	Action Action
}

// Supervisor supervises one thing. It is safe for concurrent use if its Thing and
// its Store are.
type Supervisor struct{ config Config }

// New returns a Supervisor. It calls neither the Thing nor the Store. The error
// matches ErrInvalid and has every rule that is broken.
func New(c Config) (*Supervisor, error) {
	errs := []error{c.Policy.check()}
	if c.Thing == nil || c.Store == nil {
		errs = append(errs, errors.New("Thing and Store are required"))
	}
	if c.Every < 0 || c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("the times Every (%s) and Timeout (%s) have to be more than 0", c.Every, c.Timeout))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("supervise: %w Config: %w", ErrInvalid, err)
	}
	c.Every = cmp.Or(c.Every, 10*time.Second)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	if c.Observed == nil {
		c.Observed = func(Report, error) {}
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	return &Supervisor{c}, nil
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Run steps at once and then again and again until ctx ends, and returns nil. A step
// that fails is told and made again.
func (s *Supervisor) Run(ctx context.Context) error {
	for {
		r, err := s.bounded(ctx)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		s.config.Observed(r, err)
		select {
		case <-s.config.Clock.After(s.config.Every):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Supervisor) bounded(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.Timeout, fmt.Errorf("it took longer than %s", s.config.Timeout))
	defer cancel()
	return s.Step(ctx)
}

// attempts is how often a step begins anew when somebody else has written.
const attempts = 5

// Step checks once, stores what that changes, and restarts if that is due. With an
// error of the check or of the Store nothing was restarted; a restart that failed is
// counted, and the Report has it.
func (s *Supervisor) Step(ctx context.Context) (Report, error) {
	var r Report
	err := anew(ctx, func() (err error) {
		r, err = s.step(ctx)
		return err
	})
	if err != nil || r.Action != Restart {
		return r, err
	}
	if err := s.config.Thing.Restart(ctx); err != nil {
		return r, fmt.Errorf("restart %d: %w", r.State.Restarts, err)
	}
	return r, nil
}

// step is a step without its restart.
func (s *Supervisor) step(ctx context.Context) (Report, error) {
	was, version, err := s.config.Store.Load(ctx)
	if err != nil {
		return Report{}, err
	}
	o, err := s.config.Thing.Check(ctx)
	if err != nil {
		return Report{State: was}, fmt.Errorf("check: %w", err)
	}
	is, action := Decide(was, o, s.config.Clock.Now(), s.config.Policy)
	if is != was {
		if err := s.config.Store.Save(ctx, is, version); err != nil {
			return Report{State: was, Observation: o}, err
		}
	}
	return Report{State: is, Observation: o, Action: action}, nil
}

// Unpark gives it a full budget, as a person who has looked does: what is parked
// is supervised again. It checks nothing.
func (s *Supervisor) Unpark(ctx context.Context) error {
	return anew(ctx, func() error {
		was, version, err := s.config.Store.Load(ctx)
		if err != nil || was == (State{}) {
			return err
		}
		return s.config.Store.Save(ctx, State{}, version)
	})
}

// anew calls f again while it meets what somebody else has written, a few times:
// each time f looks anew.
func anew(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if !errors.Is(err, ErrConflict) || n == attempts || ctx.Err() != nil {
			return err
		}
	}
}
