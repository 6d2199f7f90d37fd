package main

import (
	"slices"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Whose takeover it is, since when and until when, is said before what is taken over.
func TestTakeoverShown(t *testing.T) {
	t.Parallel()
	began, until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 24, 5, 0, time.UTC)
	f := &takeoverFields{User: "ann@desk", Since: &began, Until: &until, Workloads: []takenOverFields{{"Deployment shop/api", "api", journal.Diverting}}}
	want := []string{"by ann@desk since 2026-01-02T03:04:05Z, until 2026-01-02T03:24:05Z unless it is renewed", "Deployment shop/api, container api: diverting"}
	if got := f.lines(); !slices.Equal(got, want) {
		t.Errorf("it says\n%q\nwant\n%q", got, want)
	}
	if got := (*takeoverFields)(nil).lines(); got != nil {
		t.Errorf("of none it says %q", got)
	}
	// Nothing is asked of a target that is free, or that is held for something else.
	for _, l := range []lease.State{{}, {Held: true, Mode: lease.ModeDeliver}, {Held: true, Mode: lease.ModeMaintain}} {
		if got := takeoverOn(t.Context(), standard.Target{}, standard.Options{}, l); got != nil {
			t.Errorf("%+v: %+v", l, got)
		}
	}
}

// Who relies on a silence finds it in the plan.
func TestPlanNamesTheSilence(t *testing.T) {
	t.Parallel()
	const line = "the target's controller puts it back after 2m0s without a sign of life"
	if got := planLines(takeover.Plan{Target: "devbox", Silence: 120}); !slices.Contains(got, line) {
		t.Errorf("it says %q", got)
	}
	if got := planLines(takeover.Plan{Target: "devbox"}); slices.Contains(got, line) {
		t.Errorf("without one it says %q", got)
	}
}
