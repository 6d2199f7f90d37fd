package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ask is a restart that somebody waits for.
type ask struct {
	done chan<- error // takes one
	// swapped says that what ran before has ended, or nothing ran: what happens to a
	// process from then on is the answer. generation is that of the last one before.
	swapped    bool
	generation int
}

// Restart implements Runtime.
func (l *Local) Restart(ctx context.Context) error {
	stopped := func() error {
		return fmt.Errorf("restart %s: %w", l.config.Name, notServing(errors.New("it has been stopped")))
	}
	done := make(chan error, 1)
	select {
	case l.asks <- done:
	case <-l.ended:
		return stopped()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-l.ended:
		return stopped()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// swapped says that what is started from now on is what restarts wait for.
func (l *Local) swapped(generation int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.asked {
		l.asked[i].swapped, l.asked[i].generation = true, generation
	}
}

// settle answers the restarts of which an event is the outcome.
func (l *Local) settle(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = slices.DeleteFunc(l.asked, func(a ask) bool {
		settled, err := a.outcome(e)
		if settled {
			a.done <- err
		}
		return settled
	})
}

// outcome says whether an event ends a restart, and how.
func (a ask) outcome(e Event) (settled bool, _ error) {
	switch e.Type {
	case EventBuildFailed:
		return true, &BuildError{Problems: e.Problems, PID: e.PID}
	case EventReady, EventSilent:
		return a.swapped && e.Generation > a.generation, nil
	case EventCrashed, EventParked:
		return a.swapped, fmt.Errorf("%w: %s", ErrCrashed, e.Reason)
	}
	return false, nil
}
