package takeover_test

import (
	"context"
	"errors"
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
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// Somebody at another machine wants the target back.
func TestForced(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	report, err := s.elsewhere().Restore(t.Context(), restore.Request{Force: true, Reason: "a release"})
	if err != nil || !report.Done {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := <-s.ended; !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@desk") {
		t.Errorf("the session ended with %v", err)
	}
	if n := s.count(takeover.EventDiverted); n != 1 {
		t.Errorf("it was diverted %d times", n)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// breakLease has somebody else break the lease of a target.
func breakLease(t *testing.T, s *takeovertest.Shop) {
	t.Helper()
	leases, ok := s.Lifecycle().Lease.(*lease.Manager)
	if !ok {
		t.Fatal("the lease is another one")
	}
	if _, err := leases.Break(t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "a release"}); err != nil {
		t.Fatal(err)
	}
}

// A lease that is broken is noticed long before it would be renewed.
func TestBroken(t *testing.T) {
	t.Parallel()
	s := serveFor(t, editAPI, lease.Timing{Duration: time.Hour, RenewEvery: 50 * time.Minute}, nil)
	breakLease(t, s.Shop)
	select {
	case err := <-s.ended:
		if !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@desk") {
			t.Errorf("the session ended with %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it is not noticed")
	}
	if names := s.local.Names(); len(names) > 0 {
		t.Errorf("there still run %v", names)
	}
	if err := <-begin(t, s.Config()).ended; !errors.Is(err, lease.ErrLost) || !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "kubectl pharos handback") {
		t.Errorf("gone on with: %v", err)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// blocked is a workstation whose processes never become ready.
type blocked struct{ takeover.Workstation }

func (blocked) Start(ctx context.Context, _ takeover.StartRequest) (takeover.Process, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A lease that is broken is noticed whatever is done just then.
func TestBrokenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		local takeover.Workstation
		at    takeover.EventType
	}{
		"a process starts":    {blocked{&takeovertest.Workstation{}}, takeover.EventRecorded},
		"pods are waited for": {unconnected{&takeovertest.Workstation{}}, takeover.EventDiverted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewShop(t, devtest.Cluster(t))
			before := s.Specs()
			s.Write(editAPI)
			c := s.Config()
			c.Workstation, c.Timeout = tt.local, time.Hour
			r := begin(t, c)
			r.until(tt.at, 1)
			breakLease(t, s)
			select {
			case err := <-r.ended:
				if !errors.Is(err, lease.ErrLost) || !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "bob@desk") {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(5 * time.Minute):
				t.Fatal("it is not noticed")
			}
			if err := sessionOf(t, s.Config()).Finish(t.Context()); err != nil {
				t.Errorf("handed back: %v", err)
			}
			s.Whole(before)
		})
	}
}

// A lease that is broken while no process runs the session is not gone on with, which says
// who has broken it and what is left to do.
func TestBrokenWhileAway(t *testing.T) {
	t.Parallel()
	s := serveFor(t, editAPI, lease.Timing{Duration: time.Hour, RenewEvery: 50 * time.Minute}, nil)
	s.cancel()
	<-s.ended
	diverted := s.Spec("api")
	breakLease(t, s.Shop)
	err := <-begin(t, s.Config()).ended
	if !errors.Is(err, lease.ErrLost) || !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "bob@desk") || !strings.Contains(err.Error(), "kubectl pharos handback") {
		t.Errorf("gone on with: %v", err)
	}
	if s.Spec("api") != diverted {
		t.Error("it wrote to a target that is not its own")
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// A lease that is broken ends the last wait of a hand-back, too: that for the target.
func TestBrokenInTheLastWait(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	// What the target is to be like is read then, and not before.
	wait := s.proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile(`/configmaps`), Do: faultproxy.Stall()})
	answer := make(chan error, 1)
	go func() { answer <- s.HandBack(t.Context()) }()
	<-wait.Reached()
	if s.count(takeover.EventForgotten) == 0 {
		t.Errorf("it does not wait for the target yet: %v", s.types())
	}
	breakLease(t, s.Shop)
	select {
	case err := <-answer:
		if !errors.Is(err, lease.ErrLost) || !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "bob@desk") {
			t.Errorf("handed back: %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it is not noticed")
	}
	wait.Remove()
	<-s.ended
	// The lease may have been released when that was noticed.
	if err := s.finish(); err != nil && !errors.Is(err, journal.ErrNone) {
		t.Errorf("handed back again: %v", err)
	}
	s.Whole(s.before)
}

// Who has asked for something is told that the target became somebody else's meanwhile.
func TestBrokenWhileAsked(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	before := s.Specs()
	s.Write(map[string]string{"api/main.txt": "api 2\n", "mail/main.txt": "mail 2\n"})
	c := s.Config()
	c.Workstation, c.Timeout = unconnected{&takeovertest.Workstation{}}, time.Hour
	r := begin(t, c)
	r.until(takeover.EventDiverted, 2)
	answer := make(chan error, 1)
	go func() { answer <- r.HandBack(t.Context(), "api") }()
	breakLease(t, s)
	if err := <-answer; !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@desk") {
		t.Errorf("who asked is told %v", err)
	}
	<-r.ended
	if err := sessionOf(t, s.Config()).Finish(t.Context()); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(before)
}
