package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

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
