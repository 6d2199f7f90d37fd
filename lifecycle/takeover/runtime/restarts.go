package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// asked takes up that a person wants it started anew, who is told by done when it is.
func (o *loop) asked(ctx context.Context, done chan<- error) {
	o.mu.Lock()
	o.Local.asked = append(o.Local.asked, ask{done: done})
	o.mu.Unlock()
	if err := o.supervisor.Unpark(ctx); err != nil {
		o.trouble(err)
	}
	o.parked, o.due = false, nil
	o.deliver(ctx)
}

// step has the restart budget say what follows.
func (o *loop) step(ctx context.Context) {
	o.due = nil
	report, err := o.supervisor.Step(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		o.trouble(err)
		if o.process == nil && o.failure != "" {
			o.down(Crashed, time.Now().Add(time.Second))
		}
		return
	}
	was := o.parked
	o.parked = report.State.IsParked()
	o.change(func(s *State) { s.Restarts = report.State.Restarts })
	switch {
	case o.parked:
		o.failure = report.State.Parked.Reason
		o.down(Parked, time.Time{})
		if !was {
			o.announced = true
			o.tell(Event{Type: EventParked, Generation: o.generation, Reason: o.failure})
		}
	case o.process == nil && o.failure != "":
		next := o.config.Policy.Next(report.State)
		o.down(Crashed, next)
		o.announce(next)
	}
}

// announce tells a crash once.
func (o *loop) announce(next time.Time) {
	if !o.announced {
		o.announced = true
		o.tell(Event{Type: EventCrashed, Generation: o.generation, Reason: o.failure, Next: next})
	}
}

// down says that no process runs, and when the next one is due.
func (o *loop) down(phase Phase, next time.Time) {
	o.gate.fail(o.failure)
	o.change(func(s *State) { s.Phase, s.PID, s.Reason, s.Next = phase, 0, o.failure, next })
	if !next.IsZero() {
		o.due = time.After(time.Until(next))
	}
}

func (o *loop) trouble(err error) {
	o.tell(Event{Type: EventTrouble, Generation: o.generation, Reason: err.Error()})
}

// thing is what the restart budget is for.
type thing loop

// Check implements supervise.Thing.
func (t *thing) Check(context.Context) (supervise.Observation, error) {
	return supervise.Observation{Revision: t.revision, Failure: t.failure}, nil
}

// Restart implements supervise.Thing.
func (t *thing) Restart(ctx context.Context) error {
	o := (*loop)(t)
	o.announce(time.Time{})
	if o.builder != nil && o.program == "" {
		return errors.New("nothing has been built")
	}
	o.start(ctx)
	return nil
}
