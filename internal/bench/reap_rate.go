package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// reapRate is a sweep that waits for the end that all objects share, so that its
// deletions alone are measured.
type reapRate struct {
	cases *reapCases
	ended chan sweep.Item
	stop  func() error
}

// sweepWaits makes the objects, and starts a sweep that knows them when they end.
func (r *reapRate) sweepWaits(ctx context.Context) error {
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
	time.Sleep(time.Until(end))
	return nil
}

func (r *reapRate) sweep(ctx context.Context) error {
	var errs []error
	for range reapObjects {
		select {
		case i := <-r.ended:
			errs = append(errs, i.Err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), r.stop())
		}
	}
	return errors.Join(append(errs, r.stop())...)
}
