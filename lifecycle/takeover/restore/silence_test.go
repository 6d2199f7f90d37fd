package restore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// After the silence that the session says the workloads are put back though the lease is
// held. What is written down stays for the holder, who must not go on, and goes with the
// lease.
func TestPassAfterSilence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.takenOver(time.Hour, 2*time.Minute, "api")
	r := b.restorer(b.cluster.Config(), nil)
	if report := b.pass(r); report.Reason != "" {
		t.Errorf("got %+v", report)
	}
	b.silent()
	report := b.pass(r)
	if !report.Done || !strings.HasPrefix(report.Reason, "its holder has been silent for") || report.Workloads[0].Outcome != divert.OutcomeRestored {
		t.Errorf("got %+v", report)
	}
	b.whole(true)
	have, err := b.store.Beat(t.Context(), session)
	if !errors.Is(err, journal.ErrEnding) || !have.Document.Ending.Done || have.Document.Ending.By != "bob@lab" || have.Document.Workloads[0].State != journal.HandedBack {
		t.Errorf("got %+v, %v", have, err)
	}
	if report := b.pass(r); report.Reason != "" || report.Diverted != 0 || report.Session != "S1" {
		t.Errorf("got %+v", report)
	}
	b.release()
	if report := b.pass(r); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}

// The holder comes back after a silence, and diverts anew: then it has the session again.
func TestHolderComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	b.silent()
	r := b.restorer(b.cluster.Config(), nil)
	b.pass(r)
	have, err := b.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have.Document.Ending, have.Document.Workloads[0].State = nil, journal.Diverting
	again, err := b.store.Save(t.Context(), have) // which is a sign of life
	if err != nil {
		t.Fatal(err)
	}
	if report := b.pass(r); report.Reason != "" || report.Left == "" {
		t.Errorf("got %+v", report)
	}
	if _, err := b.store.Beat(t.Context(), again); err != nil {
		t.Error(err)
	}
}
