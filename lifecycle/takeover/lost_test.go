package takeover_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// Who comes back after the lease has ended, and finds the workloads put back meanwhile,
// acquires it again and diverts them anew, if nobody else has the target.
func TestComesBack(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	mend := s.cutOff()
	s.free()
	if _, err := s.elsewhere().Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Spec("api") != s.before["api"] {
		t.Error("the controller did not put it back")
	}
	s.until(takeover.EventLeaseLost, 1)
	if err := s.local.Permitted(t.Context(), "api"); err == nil {
		t.Error("a connection would be served without the lease")
	}
	mend()
	s.until(takeover.EventServing, 2)
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Errorf("back again: %v", err)
	}
	if s.Spec("api") == s.before["api"] {
		t.Error("it is not diverted again")
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// A lease cannot be renewed for ever. One that has come to its end is followed by another
// one, and the session goes on.
func TestOutlivesItsLease(t *testing.T) {
	t.Parallel()
	longest := takeovertest.Short
	longest.Max = longest.Duration + 5*time.Second
	s := serveFor(t, editAPI, longest, nil)
	s.until(takeover.EventLeaseLost, 1)
	s.until(takeover.EventServing, 2)
	if n := s.count(takeover.EventRestored); n > 0 {
		t.Errorf("it was put back %d times", n)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// Who comes back and finds the target taken by somebody else serves no more, and writes
// nothing.
func TestTakenMeanwhile(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	mend := s.cutOff()
	s.free()
	other := s.Lifecycle()
	held, err := other.Borrow(t.Context(), lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "a look", For: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s.until(takeover.EventLeaseLost, 1)
	mend()
	if err := <-s.ended; !errors.Is(err, lease.ErrHeld) {
		t.Errorf("the session ended with %v", err)
	}
	if names := s.local.Names(); len(names) > 0 {
		t.Errorf("there still run %v", names)
	}
	if err := s.finish(); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("handed back while somebody else has the target: %v", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// What a session has left whose checkout is lost for good is put back by the next one.
func TestLostForGood(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	c := s.Config()
	c.Folder = t.TempDir() // another checkout
	if err := <-begin(t, c).ended; !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "handback --force --reason ") {
		t.Errorf("while its lease lasts: %v", err)
	}
	s.free()
	for {
		r := begin(t, c)
		select {
		case err := <-r.ended: // the original's pods may not be there yet
			if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "rollout") {
				t.Fatalf("it ended with %v", err)
			}
			continue
		case <-r.served():
		}
		if err := r.HandBack(t.Context()); err != nil {
			t.Error(err)
		}
		break
	}
	for name, want := range s.before {
		if got := s.Spec(name); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if err := s.finish(); err != nil {
		t.Errorf("the checkout came back: %v", err)
	}
	s.Whole(s.before)
}

// Who comes back, has the lease again, and then meets what does not pass, gives
// everything back.
func TestComesBackInVain(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	mend := s.cutOff()
	s.free()
	if _, err := s.elsewhere().Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile(`/deployments/`), Do: faultproxy.Answer(http.StatusForbidden)})
	mend()
	if err := <-s.ended; !errors.Is(err, divert.ErrRejected) || errors.Is(err, lease.ErrLost) {
		t.Errorf("it ended with %v", err)
	}
	if names := s.local.Names(); len(names) > 0 {
		t.Errorf("there still run %v", names)
	}
	s.Whole(s.before)
}
