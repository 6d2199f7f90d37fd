package standard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// Whoever holds the lease, in whatever mode, everything that writes to the target is
// refused, also to the same person, and writes nothing; and so it is said by each dry
// run.
func TestEverythingRefusesWhileTheLeaseIsHeld(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	s.currency("NOK")
	s.reconcile(c.Config())
	s.currency("CHF")
	cfg, requests := devtest.Count(c.Config())
	l := s.lifecycle(cfg)
	commit, repo := s.head(), s.repository()
	holder := lease.NewHolder()

	type call func(ctx context.Context, dry lifecycle.DryRun) (lifecycle.Plan, error)
	commands := map[string]call{
		"reconcile": func(ctx context.Context, dry lifecycle.DryRun) (lifecycle.Plan, error) {
			res, err := l.Reconcile(ctx, lifecycle.ReconcileRequest{Commit: commit, Repository: repo, DryRun: dry})
			return res.Plan, err
		},
		"reconcile under another maintenance": func(ctx context.Context, dry lifecycle.DryRun) (lifecycle.Plan, error) {
			res, err := l.Reconcile(ctx, lifecycle.ReconcileRequest{Commit: commit, Repository: repo, DryRun: dry, Maintenance: holder})
			return res.Plan, err
		},
		"deploy": func(ctx context.Context, dry lifecycle.DryRun) (lifecycle.Plan, error) {
			res, err := l.Deploy(ctx, lifecycle.ReconcileRequest{Commit: commit, Repository: repo, DryRun: dry})
			return res.Plan, err
		},
		"rollback": func(ctx context.Context, dry lifecycle.DryRun) (lifecycle.Plan, error) {
			res, err := l.Rollback(ctx, lifecycle.RollbackRequest{Repository: repo, DryRun: dry})
			return res.Plan, err
		},
		"maintenance": func(ctx context.Context, dry lifecycle.DryRun) (p lifecycle.Plan, err error) {
			_, err = l.StartMaintenance(ctx, lifecycle.MaintenanceRequest{Holder: holder, Reason: "works", DryRun: dry != lifecycle.DryRunNone})
			return p, err
		},
		"borrow": func(ctx context.Context, dry lifecycle.DryRun) (p lifecycle.Plan, err error) {
			r := lifecycle.BorrowRequest{Holder: holder, Purpose: "a look"}
			if dry == lifecycle.DryRunNone {
				_, err = l.Borrow(ctx, r)
			} else {
				_, err = l.TryBorrow(ctx, r)
			}
			return p, err
		},
		"delete images": func(ctx context.Context, dry lifecycle.DryRun) (p lifecycle.Plan, err error) {
			_, err = l.DeleteImages(ctx, lifecycle.DeleteImagesRequest{Unused: true, DryRun: dry != lifecycle.DryRunNone})
			if dry != lifecycle.DryRunNone && err == nil {
				err = errNotAsked
			}
			return p, err
		},
	}
	helps := map[lease.Mode]string{lease.ModeDeliver: "--wait", lease.ModeBorrow: "kubectl pharos lease release", lease.ModeMaintain: "kubectl pharos maintenance off"}
	m, err := standard.NewLease(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	for mode, help := range helps {
		for _, user := range []string{"ada@laptop", s.options(c.Config()).Actor} {
			held, err := m.Acquire(t.Context(), lease.Request{Mode: mode, User: user, Purpose: "counting the till", For: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			for name, run := range commands {
				for _, dry := range []lifecycle.DryRun{lifecycle.DryRunNone, lifecycle.DryRunClient, lifecycle.DryRunServer} {
					requests.Reset()
					plan, err := run(t.Context(), dry)
					if errors.Is(err, errNotAsked) {
						continue
					}
					blocked, ok := errors.AsType[*lifecycle.BlockedError](err)
					if !ok || !errors.Is(err, lifecycle.ErrBlocked) || blocked.Holder != user || blocked.Mode != string(mode) || !blocked.Until.Equal(held.State().Expires) {
						t.Errorf("%s, dry run %q, while %s holds it in mode %s: %v", name, dry, user, mode, err)
						continue
					}
					for _, want := range []string{user, "counting the till", "left)", "kubectl pharos ", help} {
						if want == "kubectl pharos " && mode == lease.ModeDeliver {
							want = "kubectl pharos lease show"
						}
						if !strings.Contains(err.Error(), want) {
							t.Errorf("%s, dry run %q, while %s holds it in mode %s says %q, without %q", name, dry, user, mode, err, want)
						}
					}
					if plan.Decision != "" && dry != lifecycle.DryRunNone && plan.RollbackOf == "" && !strings.Contains(plan.Blocked, "counting the till") {
						t.Errorf("%s, dry run %q: the plan says it is blocked by %q", name, dry, plan.Blocked)
					}
					for _, r := range requests.Requests() {
						if r.Method != http.MethodGet && !strings.Contains(r.Query, "dryRun=All") {
							t.Errorf("%s, dry run %q, in mode %s: %s %s", name, dry, mode, r.Method, r.Path)
						}
					}
				}
			}
			if err := held.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.sells(c.Config(), "NOK")
}

// errNotAsked says that a dry run does not care who holds the lease.
var errNotAsked = errors.New("not asked")
