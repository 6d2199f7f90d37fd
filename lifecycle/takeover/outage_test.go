package takeover_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// outages are what an API server does that is away for a while, each of what a hand-back
// and a takeover write.
var outages = map[string]faultproxy.Rule{
	"deployments are cut":          {Path: regexp.MustCompile(`/deployments/`), Do: faultproxy.Cut()},
	"secrets answer 500":           {Path: regexp.MustCompile(`/secrets`), Do: faultproxy.Answer(http.StatusInternalServerError)},
	"leases have too many of them": {Path: regexp.MustCompile(`/leases/`), Do: faultproxy.TooManyRequests(0)},
}

// waitsOut lets an outage end when it is said that it is waited for.
func (r *running) waitsOut(outage *faultproxy.Fault) {
	r.t.Helper()
	for {
		for _, e := range r.all() {
			if e.Type == takeover.EventWaiting && strings.Contains(e.Reason, "it is tried again for") {
				outage.Remove()
				return
			}
		}
		select {
		case <-r.more:
		case err := <-r.ended:
			r.t.Fatalf("the session ended with %v, after %v", err, r.types())
		}
	}
}

// A hand-back goes on when the API server is back.
func TestHandBackOutlivesOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, editAPI, nil)
			is := s.proxy.Add(outage)
			answer := make(chan error, 1)
			go func() { answer <- s.HandBack(t.Context()) }()
			s.waitsOut(is)
			if err := <-answer; err != nil {
				t.Error(err)
			}
			if err := <-s.ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
			s.Whole(s.before)
		})
	}
}

// A takeover that has begun is not undone by an outage that ends.
func TestTakeoverOutlivesOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]faultproxy.Rule{
		"while it is tried":    {Method: http.MethodPatch, Path: regexp.MustCompile(`/deployments/`), Do: faultproxy.Cut()},
		"while it is recorded": {Method: http.MethodPost, Path: regexp.MustCompile(`/secrets`), Do: faultproxy.Answer(http.StatusServiceUnavailable)},
		"while it is borrowed": {Method: http.MethodPut, Path: regexp.MustCompile(`/leases/`), Do: faultproxy.Cut()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewShop(t, devtest.Cluster(t))
			before := s.Specs()
			s.Write(editAPI)
			proxy, err := faultproxy.ForCluster(s.REST)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			is := proxy.Add(outage)
			c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, proxy.Config(s.REST), lease.Timing{})
			if err != nil {
				t.Fatal(err)
			}
			r := begin(t, c)
			r.waitsOut(is)
			r.until(takeover.EventServing, 1)
			if n := r.count(takeover.EventRestored); n > 0 {
				t.Errorf("it was undone %d times", n)
			}
			if err := r.HandBack(t.Context()); err != nil {
				t.Error(err)
			}
			s.Whole(before)
		})
	}
}

// A hand-back whose API server takes requests and never answers ends when its time is
// over, and the next one goes on.
func TestHandBackOfServerThatHangs(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	<-s.ended
	config := s.proxy.Config(s.REST)
	config.Timeout = time.Second
	c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, config, takeovertest.Short)
	if err != nil {
		t.Fatal(err)
	}
	c.Timeout = 3 * time.Second
	session := sessionOf(t, c)
	stall := s.proxy.Add(faultproxy.Rule{Do: faultproxy.Stall()})
	ended := make(chan error, 1)
	go func() { ended <- session.Finish(t.Context()) }()
	select {
	case err := <-ended:
		if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.HasPrefix(err.Error(), fmt.Sprintf("hand back target %q: ", s.Namespace)) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it does not end")
	}
	stall.Remove()
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// silentRegistry is one that never answers to a removal.
type silentRegistry struct {
	takeovertest.Agents
	asked chan struct{}
	ended chan error
}

func (r silentRegistry) Remove(ctx context.Context, _ string) error {
	close(r.asked)
	<-ctx.Done()
	r.ended <- context.Cause(ctx)
	return context.Cause(ctx)
}

// A registry that does not answer holds a hand-back up for a while, and no longer.
func TestRegistryThatHangs(t *testing.T) {
	t.Parallel()
	clock, registry := newSleeper(), silentRegistry{asked: make(chan struct{}), ended: make(chan error, 1)}
	s := serve(t, editAPI, func(c *takeover.Config) { c.Agents, c.Clock = registry, clock })
	answer := make(chan error, 1)
	go func() { answer <- s.HandBack(t.Context()) }()
	<-registry.asked
	clock.tick()
	if err := <-registry.ended; err == nil || err.Error() != "the registry has not answered for 30s" {
		t.Errorf("the removal ended with %v", err)
	}
	if err := <-answer; err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}
