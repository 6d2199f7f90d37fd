package controller

import (
	"errors"
	"time"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// Sweep says what the leader ends.
type Sweep struct {
	// Ender does it. Required.
	Ender *sweep.Ender
	// SweeperConfig says what is looked after.
	sweep.SweeperConfig
}

// sweepTask is the name of the task.
const sweepTask = "sweep"

// sweep is the task, and registers its metrics.
func (c *Controller) sweep(s Sweep) (Task, error) {
	if s.Ender == nil {
		return Task{}, errors.New("Sweep lacks its Ender")
	}
	m := newSweepMetrics()
	tell := s.Observed
	s.Observed = func(i sweep.Item, late time.Duration) {
		m.observed(i, late)
		if tell != nil {
			tell(i, late)
		}
	}
	sweeper, err := sweep.NewSweeper(s.Ender, s.SweeperConfig)
	if err != nil {
		return Task{}, err
	}
	m.state = sweeper.State
	if err := c.metrics.registry.Register(m); err != nil {
		return Task{}, err
	}
	return Task{Name: sweepTask, Run: sweeper.Run}, nil
}
