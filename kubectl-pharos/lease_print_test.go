package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// A lease that was broken is not just over: who broke it, when and why is said, to
// people and to programs, while it is still nobody's for a few seconds.
func TestLeaseThatWasBroken(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	held := lease.State{Held: true, Mode: lease.ModeBorrow, Holder: "H", User: "ann@laptop", Purpose: "a look", Token: 3, Expires: now.Add(time.Second), Now: now,
		Broken: &lease.Broken{By: "bob@desk", Reason: "a hotfix", At: now, Holder: "H", User: "ann@laptop", Token: 3}}
	if got, want := leaseLine(held), "borrow, held by ann@laptop until bob@desk broke it at 2026-11-30T12:00:00Z: a hotfix; it is free in a few seconds"; got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if f := leaseOf(held); !f.Over || f.Broken.By != "bob@desk" || f.Broken.Holder != f.Holder {
		t.Errorf("a program reads %+v", f)
	}
	free := held
	if free.Held = false; free.WasBroken() || leaseLine(free) != "free" {
		t.Errorf("after the grace: %s, and it is still said to be broken", leaseLine(free))
	}
	earlier := held
	earlier.Holder, earlier.User = "NEXT", "carol@desk"
	if got := leaseLine(earlier); !strings.Contains(got, "carol@desk until 2026-11-30T12:00:01Z") || leaseOf(earlier).Over {
		t.Errorf("whoever acquired it since: %s, %+v", got, leaseOf(earlier))
	}
}

// What is open since the lease was just acquired, or is over, was opened by nobody
// who should not.
func TestLeaseIsCalledExposedOnlyWhileItsGateIsToStand(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	held := lease.State{Held: true, Mode: lease.ModeBorrow, Holder: "H", Covers: []string{"shop-api"}, Token: 3, Expires: now.Add(time.Minute), Now: now}
	over := held
	over.Expires = now.Add(-time.Second)

	if got := (&leaseAcquireOptions{}).acquired(held); strings.Contains(got, "EXPOSED") || !strings.Contains(got, "covers shop-api") {
		t.Errorf("just acquired: %s", got)
	}
	if got := strings.Join(leaseDetails(over, nil, nil), "\n"); strings.Contains(got, "EXPOSED") {
		t.Errorf("over: %s", got)
	}
	if got := strings.Join(leaseDetails(held, nil, nil), "\n"); !strings.Contains(got, "EXPOSED") {
		t.Errorf("opened by somebody: %s", got)
	}
}
