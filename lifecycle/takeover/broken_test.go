package takeover_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
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

// A lease that is broken is noticed long before it would be renewed.
func TestBroken(t *testing.T) {
	t.Parallel()
	s := serveFor(t, editAPI, lease.Timing{Duration: time.Hour, RenewEvery: 50 * time.Minute}, nil)
	leases, ok := s.Lifecycle().Lease.(*lease.Manager)
	if !ok {
		t.Fatal("the lease is another one")
	}
	if _, err := leases.Break(t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "a release"}); err != nil {
		t.Fatal(err)
	}
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
			leases, ok := s.Lifecycle().Lease.(*lease.Manager)
			if !ok {
				t.Fatal("the lease is another one")
			}
			if _, err := leases.Break(t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "a release"}); err != nil {
				t.Fatal(err)
			}
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
