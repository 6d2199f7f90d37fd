package takeover_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// A takeover that does not succeed leaves nothing.
func TestUndone(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	before := s.Specs()
	s.Write(editAPI)
	c := s.Config()
	broken := errors.New("it does not compile")
	c.Workstation = &takeovertest.Workstation{Fail: broken}
	r := begin(t, c)
	if err := <-r.ended; !errors.Is(err, broken) {
		t.Errorf("it ended with %v", err)
	}
	if r.count(takeover.EventDiverted) > 0 {
		t.Error("it was diverted before its process was ready")
	}
	s.Whole(before)

	// While somebody else has the target.
	held, err := s.Lifecycle().Borrow(t.Context(), lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "a look", For: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-begin(t, s.Config()).ended; !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, lease.ErrHeld) {
		t.Errorf("it ended with %v", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Whole(before)
}
