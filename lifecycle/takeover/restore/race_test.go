package restore_test

import (
	"errors"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// Several at once do what one does.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api", "web")
	b.release()
	var all sync.WaitGroup
	for range 4 {
		r := b.restorer(b.cluster.Config(), nil)
		all.Go(func() {
			if _, err := r.Pass(t.Context()); err != nil && !errors.Is(err, journal.ErrNone) && !errors.Is(err, journal.ErrConflict) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.pass(b.restorer(b.cluster.Config(), nil))
	b.whole(false)
}

// A holder that comes back right before a workload is put back keeps it.
func TestHolderIsFaster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	b.silent()
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	stalled := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/deployments/api"), Times: 1, Do: faultproxy.Stall()})
	r := b.restorer(proxy.Config(b.cluster.Config()), nil)
	done := make(chan restore.Report, 1)
	go func() {
		report, err := r.Pass(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	<-stalled.Reached()
	session, err := b.store.Load(t.Context())
	if err != nil || session.Document.Ending == nil {
		t.Fatalf("got %+v, %v", session, err)
	}
	session.Document.Ending = nil
	if session, err = b.store.Save(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Beat(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	stalled.Release()
	if report := <-done; report.Reason != "" || report.Left != "ann@desk has it" {
		t.Errorf("got %+v", report)
	}
	b.diverted()
}
