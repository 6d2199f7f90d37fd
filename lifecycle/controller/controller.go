package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// Lease is what leaders are elected by. *lease.Manager is one.
type Lease interface {
	Acquire(ctx context.Context, r lease.Request) (*lease.Held, error)
}

// Config is what a controller needs.
type Config struct {
	// Lease elects the leader among all controllers that share it. Nil elects
	// none: the controller serves health and metrics, and asks nothing of the
	// cluster.
	Lease Lease
	// Identity names the replica for people who look at the lease: that of its
	// pod, for example.
	Identity string
	// Covers is what the leader's lease says that it covers, for who wants to know what
	// they can rely on: see MayPutBack. It is asked before each try to become leader, and
	// by the leader once for each Look, who leads anew when the answer is another one. The
	// default is nothing.
	Covers func(context.Context) ([]string, error)
	// Look is how often the leader asks that. The default is a minute.
	Look time.Duration
	// Version is that of the program.
	Version string
	// Retry is how long to wait after the lease could not be reached, and before a
	// task that ended is run again: twice as long each further time, up to a minute.
	// The default is 2 seconds.
	Retry time.Duration
	// Tasks are what the leader does, side by side. They need a Lease.
	Tasks []Task
	// Watchdogs are the targets whose leases the leader watches: each is a task.
	Watchdogs []Watchdog
	// Takeovers are the targets whose takeovers the leader ends when their holder is
	// gone: each is a task.
	Takeovers []Takeover
	// Sweep is what the leader ends when it is past its end, which is a task, too. Nil
	// ends nothing.
	Sweep *Sweep
	// Events records what the watchdogs opened, and what did not become as it is
	// declared. The default records nothing: it is in the log all the same.
	Events Recorder
	// Now is this machine's clock, for metrics. The default is the real one.
	Now func() time.Time
	// Log receives who leads and what fails. The default discards.
	Log *slog.Logger
}

// Controller is one replica. It is safe for concurrent use.
type Controller struct {
	config  Config
	metrics *metrics
	ready   atomic.Bool
}

// New returns a controller. It makes no call. The error has everything in the
// configuration that breaks a rule.
func New(c Config) (*Controller, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("controller: invalid Config: %w", err)
	}
	if c.Retry <= 0 {
		c.Retry = 2 * time.Second
	}
	if c.Look <= 0 {
		c.Look = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	ctl := &Controller{config: c, metrics: newMetrics(c)}
	for _, t := range c.Tasks {
		if t.Metrics == nil {
			continue
		}
		if err := ctl.metrics.registry.Register(t.Metrics); err != nil {
			return nil, fmt.Errorf("controller: invalid Config: the metrics of task %q: %w", t.Name, err)
		}
	}
	for _, d := range c.Watchdogs {
		ctl.config.Tasks = append(slices.Clip(ctl.config.Tasks), ctl.watch(d))
	}
	for _, t := range c.Takeovers {
		ctl.config.Tasks = append(slices.Clip(ctl.config.Tasks), ctl.takeover(t))
	}
	if c.Sweep != nil {
		t, err := ctl.sweep(*c.Sweep)
		if err != nil {
			return nil, fmt.Errorf("controller: invalid Config: %w", err)
		}
		ctl.config.Tasks = append(slices.Clip(ctl.config.Tasks), t)
	}
	ctl.ready.Store(c.Lease == nil)
	return ctl, nil
}

// check reports every rule that is broken.
func (c Config) check() error {
	var errs []error
	if c.Lease == nil && (len(c.Tasks)+len(c.Watchdogs)+len(c.Takeovers) > 0 || c.Sweep != nil) {
		errs = append(errs, fmt.Errorf("%s, %s, %s and %s are the leader's, and without Lease there is none", "Tasks", "Watchdogs", "Takeovers", "Sweep"))
	}
	taken := map[string]bool{sweepTask: c.Sweep != nil}
	for _, t := range c.Tasks {
		switch {
		case t.Name == "" || t.Run == nil:
			errs = append(errs, fmt.Errorf("task %q lacks its Name or its Run", t.Name))
		case taken[t.Name]:
			errs = append(errs, fmt.Errorf("there are two tasks %q", t.Name))
		}
		taken[t.Name] = true
	}
	for _, d := range c.Watchdogs {
		switch {
		case d.Namespace == "" || d.Target == "" || d.Lease == nil:
			errs = append(errs, fmt.Errorf("the watchdog of target %q in namespace %q lacks one of both names or its Lease", d.Target, d.Namespace))
		case d.Every < 0:
			errs = append(errs, fmt.Errorf("the watchdog of target %q has the interval %s, want more than 0", d.Target, d.Every))
		case taken[d.name()]:
			errs = append(errs, fmt.Errorf("there are two watchdogs of target %q in namespace %q", d.Target, d.Namespace))
		}
		taken[d.name()] = true
	}
	for _, t := range c.Takeovers {
		switch {
		case t.Namespace == "" || t.Target == "" || t.Sessions == nil:
			errs = append(errs, fmt.Errorf("the takeovers of target %q in namespace %q lack one of both names or their Sessions", t.Target, t.Namespace))
		case t.Every < 0:
			errs = append(errs, fmt.Errorf("the takeovers of target %q have the interval %s, want more than 0", t.Target, t.Every))
		case taken[t.name()]:
			errs = append(errs, fmt.Errorf("there are two for the takeovers of target %q in namespace %q", t.Target, t.Namespace))
		}
		taken[t.name()] = true
	}
	return errors.Join(errs...)
}

// Handler serves /healthz, /readyz and /metrics.
func (c *Controller) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.ready.Load() {
			http.Error(w, "it is not known who leads", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.Handle("GET /metrics", c.metrics.handler())
	return mux
}

// look is how long one attempt to become leader waits for another one to end:
// then it is clear that the lease can be reached.
const look = 2 * time.Second

// Run takes part in the election until ctx ends, gives the leadership back, and
// returns nil.
func (c *Controller) Run(ctx context.Context) error {
	if c.config.Lease == nil {
		<-ctx.Done()
		return nil
	}
	var reach failing
	reached := func() {
		if _, again := reach.heard(nil); again {
			c.config.Log.Info("the lease by which the leader is elected can be reached again")
		}
	}
	pause := c.config.Retry
	for ctx.Err() == nil {
		covers, err := c.covers(ctx)
		var held *lease.Held
		if err == nil {
			held, err = c.config.Lease.Acquire(ctx, lease.Request{Mode: lease.ModeDeliver, User: c.config.Identity, Purpose: "lead the controllers", Covers: covers, Wait: look})
		}
		other, isHeld := errors.AsType[*lease.HeldError](err)
		switch {
		case err == nil:
			reached()
			pause = c.config.Retry
			c.lead(ctx, held, covers)
		case isHeld:
			reached()
			pause = c.config.Retry
			if !c.ready.Swap(true) {
				c.config.Log.Info("standing by", "leader", other.State.Who())
			}
		case ctx.Err() != nil:
		default:
			c.ready.Store(false)
			c.metrics.failures.Inc()
			if fails, _ := reach.heard(err); fails {
				c.config.Log.Warn("the lease by which the leader is elected cannot be reached, and is asked for again", "err", err)
			}
			wait(ctx, pause)
			pause = min(2*pause, longestRetry)
		}
	}
	return nil
}

// lead leads until ctx ends, the lease is lost, or it is to cover something else. The lease is kept, and then
// given back, until the tasks have ended.
func (c *Controller) lead(ctx context.Context, held *lease.Held, covers []string) {
	c.ready.Store(true)
	c.metrics.leader.Set(1)
	c.metrics.elections.Inc()
	c.config.Log.Info("leading", "token", held.Token(), "covers", covers)
	lost, stop := held.Keep(context.WithoutCancel(ctx))
	working, end := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	for _, t := range c.config.Tasks {
		tasks.Go(func() { c.work(working, t) })
	}
	var err error
	select {
	case err = <-lost:
	case <-c.otherwise(working, covers):
		c.config.Log.Info("leads anew, since what it may do has changed")
	case <-ctx.Done():
	}
	end()
	tasks.Wait()
	stop()
	c.metrics.leader.Set(0)
	if err != nil {
		c.ready.Store(false)
		c.config.Log.Warn("leads no more", "err", err)
	}
	released, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := held.Release(released); err != nil {
		c.config.Log.Warn("the leadership could not be given back, and ends by itself", "err", err)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
