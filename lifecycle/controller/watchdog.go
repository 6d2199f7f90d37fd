package controller

import (
	"context"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// Watcher watches the lease of one target. *lease.Manager is one.
type Watcher interface {
	Watch(ctx context.Context, c lease.WatchConfig) error
}

// Watchdog is a target whose lease the leader watches: it opens what a holder who
// is gone left closed, and says what does not become as it is declared.
type Watchdog struct {
	// Namespace is that of the Lease, Target the target's name. They stand in logs
	// and metrics. Required, and together no other watchdog's.
	Namespace, Target string
	// Lease watches it. Required.
	Lease Watcher
	// Every is how long the watchdog sleeps at most. The default is that of
	// lease.WatchConfig.
	Every time.Duration
}

// name is how tasks are told apart.
func (d Watchdog) name() string { return "lease " + d.Namespace + "/" + d.Target }

// watch is the task of a watchdog.
func (c *Controller) watch(d Watchdog) Task {
	return Task{Name: d.name(), Run: func(ctx context.Context) error {
		defer c.metrics.leases.forget(d)
		var n news
		return d.Lease.Watch(ctx, lease.WatchConfig{Every: d.Every, Observed: func(s lease.State, r lease.Report, err error) {
			c.observed(ctx, d, &n, s, r, err)
		}})
	}}
}

// observed tells what a pass came to.
func (c *Controller) observed(ctx context.Context, d Watchdog, n *news, s lease.State, r lease.Report, err error) {
	c.metrics.leases.observed(d, s, r, err)
	log := c.config.Log.With("namespace", d.Namespace, "target", d.Target)
	switch fails, over := n.failing.heard(err); {
	case fails:
		log.Warn("what a lease left over could not be looked after", "err", err)
	case over:
		log.Info("what a lease left over is looked after again")
	}
	for _, f := range n.in(s, r, err) {
		if f.event == notConverged {
			c.metrics.leases.notConverged.WithLabelValues(d.Namespace, d.Target).Inc()
		}
		log.Log(ctx, f.level, f.message, f.attrs()...)
		if f.event == "" || c.config.Events == nil {
			continue
		}
		if err := c.record(ctx, f.of(d)); err != nil {
			log.Warn("an Event could not be recorded", "reason", f.event, "err", err)
		}
	}
}

// record records an Event, also of the last pass of a leadership that ends.
func (c *Controller) record(ctx context.Context, e Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return c.config.Events.Record(ctx, e)
}
