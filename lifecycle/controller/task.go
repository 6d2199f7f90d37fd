package controller

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Task is work that the leader does, and no other replica.
type Task struct {
	// Name stands in logs and metrics. Required, and no other task's.
	Name string
	// Run works until ctx ends, which it does when the leadership ends, and
	// returns when all that it began has ended. A leader that lost its lease while
	// its machine slept finds out late: two leaders may run the same task for
	// moments, and must do no harm. Run is called again if it returns before:
	// after Config.Retry, and then after twice as long each time, up to a minute.
	// Required.
	Run func(ctx context.Context) error
	// Metrics are served with the controller's; their names are no other's. The default
	// is none.
	Metrics prometheus.Collector
}

// longestRetry is the longest pause before a task runs again.
const longestRetry = time.Minute

// work runs a task until ctx ends.
func (c *Controller) work(ctx context.Context, t Task) {
	running := c.metrics.running.WithLabelValues(t.Name)
	log := c.config.Log.With("task", t.Name)
	for pause := c.config.Retry; ; pause = min(2*pause, longestRetry) {
		began := time.Now()
		running.Set(1)
		err := t.Run(ctx)
		running.Set(0)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestRetry {
			pause = c.config.Retry
		}
		c.metrics.taskFailures.WithLabelValues(t.Name).Inc()
		log.Warn("a task ended and is run again", "after", pause, "err", err)
		wait(ctx, pause)
		if ctx.Err() != nil {
			return
		}
	}
}
