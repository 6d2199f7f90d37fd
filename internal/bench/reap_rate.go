package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// reapRate is a sweep of objects that share their end. It is measured from its first
// deletion on: how late that is, is another case.
type reapRate struct {
	cases *reapCases
	ended chan sweep.Item
	stop  func() error
}

// sweepBegins makes the objects, and starts a sweep that knows them when they end. It
// returns when the first of them was deleted.
func (r *reapRate) sweepBegins(ctx context.Context) error {
	end := time.Now().Truncate(time.Second).Add(reapObjects / 50 * time.Second)
	ends := map[string]time.Time{}
	for i := range reapObjects {
		ends[fmt.Sprintf("preview-%04d", i)] = end
	}
	if err := r.cases.create(ctx, ends); err != nil {
		return err
	}
	e, err := sweep.New(sweep.Config{REST: r.cases.config, DeletesPerSecond: -1, ConcurrentDeletes: reapAtOnce})
	if err != nil {
		return err
	}
	r.ended = make(chan sweep.Item, reapObjects)
	s, err := sweep.NewSweeper(e, sweep.SweeperConfig{Resources: []string{"configmaps"}, Namespace: r.cases.namespace, Observed: func(i sweep.Item, _ time.Duration) { r.ended <- i }})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Run(running) }()
	r.stop = func() error { cancel(); return <-done }
	for s.State().Objects["configmaps"][sweep.ClassWaiting] < reapObjects && time.Now().Before(end) {
		time.Sleep(50 * time.Millisecond)
	}
	if !time.Now().Before(end) {
		return errors.Join(errors.New("the machine is too slow: the objects ended before the sweep knew all of them"), r.stop())
	}
	select {
	case first := <-r.ended:
		return first.Err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), r.stop())
	}
}

func (r *reapRate) sweep(ctx context.Context) error {
	var errs []error
	for range reapObjects - 1 {
		select {
		case i := <-r.ended:
			errs = append(errs, i.Err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), r.stop())
		}
	}
	return errors.Join(append(errs, r.stop())...)
}
