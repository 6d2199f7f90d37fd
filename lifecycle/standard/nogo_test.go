package standard_test

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// TestWithoutAGoCommand wants one to be needed where something is built, and
// nowhere else.
func TestWithoutAGoCommand(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	o := s.options(c.Config())
	o.Env = []string{"PATH=" + t.TempDir()}
	without := func() *lifecycle.Lifecycle {
		l, err := standard.New(s.target(), o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	request := func(dry lifecycle.DryRun) lifecycle.ReconcileRequest {
		return lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: dry}
	}
	if res, err := without().Reconcile(t.Context(), request(lifecycle.DryRunClient)); res.Plan.Decision != lifecycle.DecideBuild || err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("dry run: %+v, %v, want it to ask for Go", res.Plan, err)
	}
	if _, err := without().Reconcile(t.Context(), request(lifecycle.DryRunNone)); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("delivery: %v, want it to ask for Go", err)
	}
	s.reconcile(c.Config())
	if st, err := without().Status(t.Context()); err != nil || !st.IsLive() {
		t.Errorf("status: %+v, %v", st, err)
	}
	if res, err := without().Reconcile(t.Context(), request(lifecycle.DryRunNone)); err != nil || res.Plan.Decision != lifecycle.DecideUnchanged {
		t.Errorf("nothing to do: %+v, %v", res.Plan, err)
	}
}
