package restore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// A session is its holder's while that has the lease, and is ended after that.
func TestPassAfterTheLease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.restorer(b.cluster.Config(), nil)
	if report := b.pass(r); report.Session != "" || report.Done {
		t.Errorf("got %+v", report)
	}
	b.takenOver(time.Hour, 0, "api", "web")
	b.silent() // which this session allows
	report := b.pass(r)
	if report.Session != "S1" || report.User != "ann@desk" || report.Reason != "" || report.Left != "ann@desk has it" || report.Diverted != 2 {
		t.Errorf("got %+v", report)
	}
	b.diverted()
	b.release()
	report = b.pass(r)
	if !report.Done || report.Reason != "its lease is over" || len(report.Workloads) != 2 || report.Workloads[1].Outcome != divert.OutcomeRestored || report.Diverted != 0 {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
	if report := b.pass(r); report.Session != "" {
		t.Errorf("got %+v", report)
	}
}

// A laptop is lost for good: soon after the lease has ended by itself, grace included,
// all is whole.
func TestWatchAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver("api")
	b.takenOver(10*time.Second, 0, "api")
	end := b.held.State().Expires
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last restore.Report
	err := b.restorer(b.cluster.Config(), nil).Watch(ctx, restore.WatchConfig{Every: time.Second, Observed: func(r restore.Report, err error) {
		if err != nil {
			t.Error(err)
		}
		if last = r; r.Done {
			cancel()
		}
	}})
	if err != nil || !last.Done {
		t.Fatalf("got %+v, %v", last, err)
	}
	b.whole(false)
	now, err := b.leases.Inspect(t.Context())
	if err != nil || now.Now.Before(end.Add(time.Second)) {
		t.Errorf("it was put back at %s, and the lease ended at %s", now.Now, end)
	}
}

// Who acquired the lease meanwhile, for something else, does not keep it from being put
// back.
func TestPassWithAnotherHolder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api")
	b.release()
	if _, err := b.leases.Acquire(t.Context(), lease.Request{Mode: lease.ModeMaintain, User: "carl@ops"}); err != nil {
		t.Fatal(err)
	}
	if report := b.pass(b.restorer(b.cluster.Config(), nil)); !report.Done || !strings.Contains(report.Reason, "carl@ops has acquired it") {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}
