package lease_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// clock is a clock that only a test moves.
type clock struct {
	mu     sync.Mutex
	armed  *sync.Cond
	now    time.Time
	timers []timer
	// jumps lets After move the clock instead of waiting for somebody to do so.
	jumps bool
	// ended is set when nobody will wait for it any more.
	ended bool
}

type timer struct {
	at time.Time
	ch chan time.Time
}

// first is the token of a Lease that is acquired first when a clock is new: the
// seconds since 2026 began.
const first = (((31+28+3)*24+5)*60+6)*60 + 7

func newClock() *clock {
	c := &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	c.armed = sync.NewCond(&c.mu)
	return c
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if c.jumps || d <= 0 {
		c.now = c.now.Add(max(d, 0))
		ch <- c.now
		return ch
	}
	c.timers = append(c.timers, timer{c.now.Add(d), ch})
	c.armed.Broadcast()
	return ch
}

// advance moves the clock, and fires what is due.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	var later []timer
	for _, t := range c.timers {
		if t.at.After(c.now) {
			later = append(later, t)
		} else {
			t.ch <- c.now
		}
	}
	c.timers = later
}

// awaitTimer waits until somebody waits for the clock, and reports false if
// nobody will any more.
func (c *clock) awaitTimer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) == 0 && !c.ended {
		c.armed.Wait()
	}
	return !c.ended
}

// end says that nobody will wait for the clock any more.
func (c *clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.armed.Broadcast()
}

// skewed is a clock of another machine, which is wrong by by.
type skewed struct {
	*clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.clock.Now().Add(s.by) }

// withServerTime returns a copy of the configuration for which the server's
// answers carry the Date that now says.
func withServerTime(config *rest.Config, now func() time.Time) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Header.Set("Date", now().UTC().Format(http.TimeFormat))
			}
			return resp, err
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// world is a target, its API server's clock, and the machines around it.
type world struct {
	cluster   *devenv.Cluster
	namespace string
	server    *clock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := devtest.Cluster(t)
	return &world{cluster: c, namespace: devtest.Namespace(t, c), server: newClock()}
}

// config is that of a machine with that clock.
func (w *world) config(machine lease.Clock) lease.Config {
	return lease.Config{
		REST:      withServerTime(w.cluster.Config(), w.server.Now),
		Namespace: w.namespace,
		Target:    "devbox",
		Clock:     machine,
	}
}

// manager is that of a machine whose clock runs with the server's.
func (w *world) manager(t *testing.T) *lease.Manager {
	t.Helper()
	return manager(t, w.config(w.server))
}

func manager(t *testing.T, c lease.Config) *lease.Manager {
	t.Helper()
	m, err := lease.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func acquire(t *testing.T, m *lease.Manager, r lease.Request) *lease.Held {
	t.Helper()
	h, err := m.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func inspect(t *testing.T, m *lease.Manager) lease.State {
	t.Helper()
	s, err := m.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	deliver  = lease.Request{Mode: lease.ModeDeliver, User: "ann@laptop", Purpose: "deliver 1111111"}
	borrow   = lease.Request{Mode: lease.ModeBorrow, User: "bob@desk", Covers: []string{"web", "api"}}
	maintain = lease.Request{Mode: lease.ModeMaintain, User: "eve@desk", Purpose: "new disks"}
)
