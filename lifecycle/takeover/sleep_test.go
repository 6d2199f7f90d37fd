package takeover_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// The workloads that a controller has put back after a silence are diverted anew.
func TestSilence(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Silence, c.Clock = time.Second, clock })
	for s.Spec("api") != s.before["api"] {
		if _, err := s.elsewhere().Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	clock.tick() // so that the next sign of life is due
	s.until(takeover.EventServing, 2)
	if s.Spec("api") == s.before["api"] {
		t.Error("it is not diverted again")
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// sleeper is a clock of a machine that can sleep, and whose long waits end when the
// test says so.
type sleeper struct {
	mu     sync.Mutex
	asleep time.Duration
	due    chan struct{}
	began  time.Time
}

func newSleeper() *sleeper { return &sleeper{due: make(chan struct{}), began: time.Now()} }

func (c *sleeper) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.asleep)
}

func (c *sleeper) Awake() time.Duration { return time.Since(c.began) }

func (c *sleeper) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	due := c.due
	c.mu.Unlock()
	if d < 30*time.Second || d > time.Minute {
		return time.After(d)
	}
	fired := make(chan time.Time, 1)
	go func() {
		select {
		case <-due:
		case <-time.After(d):
		}
		fired <- time.Now()
	}()
	return fired
}

func (c *sleeper) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.due)
	c.due = make(chan struct{})
}

func (c *sleeper) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asleep += d
}

// After a sleep the API server is asked before another connection is served.
func TestSleep(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Clock = clock })
	asked := func() (n int) {
		for _, r := range s.proxy.Requests() {
			if strings.HasSuffix(r.Path, "/leases/pharos-"+s.Namespace) && r.Method == "GET" {
				n++
			}
		}
		return n
	}
	before := asked()
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	stall := s.proxy.Add(faultproxy.Rule{Method: "GET", Do: faultproxy.Stall()})
	clock.sleep(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.local.Permitted(ctx, "api"); err == nil {
		t.Error("a connection is served before it is known whose the target is")
	}
	stall.Remove()
	s.until(takeover.EventHeld, 1)
	s.until(takeover.EventServing, 2)
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	if asked() == before {
		t.Error("the API server was not asked")
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// A hand-back is heard after a sleep also while the API server does not say whose the
// target is.
func TestHandBackAfterSleep(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Clock = clock })
	is := s.proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(`/leases/`), Do: faultproxy.Cut()})
	clock.sleep(time.Hour)
	s.until(takeover.EventHeld, 1)
	answer := make(chan error, 1)
	go func() { answer <- s.HandBack(t.Context()) }()
	s.waitsOut(is)
	if err := <-answer; err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// What another has taken while this machine slept is not served any more.
func TestSleptTooLong(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Clock = clock })
	if _, err := s.elsewhere().Restore(t.Context(), restore.Request{Force: true, Reason: "a release"}); err != nil {
		t.Fatal(err)
	}
	clock.sleep(time.Hour)
	if err := s.local.Permitted(t.Context(), "api"); err == nil {
		t.Error("a connection is served of a target that is somebody else's")
	}
	if err := <-s.ended; !errors.Is(err, lease.ErrLost) {
		t.Errorf("the session ended with %v", err)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}
