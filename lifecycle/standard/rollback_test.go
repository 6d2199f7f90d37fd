package standard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// currency is a commit of the shop with another currency.
func (s *shop) currency(name string) string {
	s.t.Helper()
	s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: " + name + "}\n"})
	return s.commit("Sell for " + name)
}

// sells wants the target to hold that currency.
func (s *shop) sells(cfg *rest.Config, want string) {
	s.t.Helper()
	settings, err := devtest.Client(s.t, cfg).CoreV1().ConfigMaps(s.namespace).Get(s.t.Context(), "settings", metav1.GetOptions{})
	if err != nil || settings.Data["currency"] != want {
		s.t.Errorf("settings %v, %v; want %s", settings.Data, err, want)
	}
}

func (s *shop) rollback(cfg *rest.Config, id receipt.ID) lifecycle.ReconcileResult {
	s.t.Helper()
	res, err := s.lifecycle(cfg).Rollback(s.t.Context(), lifecycle.RollbackRequest{Receipt: id, Repository: s.repository()})
	if err != nil {
		s.t.Fatalf("roll back: %v", err)
	}
	return res
}

func TestRollback(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	if _, err := s.lifecycle(cfg).Rollback(t.Context(), lifecycle.RollbackRequest{Repository: s.repository()}); !errors.Is(err, lifecycle.ErrNoRollback) {
		t.Errorf("before anything was delivered: %v", err)
	}
	first := s.reconcile(cfg)
	if _, err := s.lifecycle(cfg).Rollback(t.Context(), lifecycle.RollbackRequest{Repository: s.repository()}); !errors.Is(err, lifecycle.ErrNoRollback) {
		t.Errorf("when there was only one delivery: %v", err)
	}
	s.currency("NOK")
	second := s.reconcile(cfg)
	head := s.currency("CHF")
	third := s.reconcile(cfg)

	dry, err := s.lifecycle(cfg).Rollback(t.Context(), lifecycle.RollbackRequest{Repository: s.repository(), DryRun: lifecycle.DryRunServer})
	if err != nil || dry.Plan.RollbackOf != second.Receipt || dry.Receipt != "" || len(dry.Changes) == 0 {
		t.Errorf("a dry run comes to %+v, %v", dry, err)
	}
	s.sells(cfg, "CHF")

	back := s.rollback(cfg, "")
	s.sells(cfg, "NOK")
	st := s.status(cfg)
	if !st.IsLive() || st.Live.ID != back.Receipt || st.Live.Record.RollbackOf != second.Receipt || st.Live.Record.Parent != third.Receipt {
		t.Errorf("after the rollback: %+v", st.Live)
	}
	again := s.rollback(cfg, second.Receipt)
	if again.Plan.Decision != lifecycle.DecideUnchanged || again.Receipt != back.Receipt {
		t.Errorf("the same once more: %s", strings.Join(again.Plan.Reasons, "; "))
	}
	further := s.rollback(cfg, "")
	if s.sells(cfg, "EUR"); further.Plan.RollbackOf != first.Receipt {
		t.Errorf("a further rollback goes back to %s, want %s", further.Plan.RollbackOf, first.Receipt)
	}
	if _, err := s.lifecycle(cfg).Rollback(t.Context(), lifecycle.RollbackRequest{Repository: s.repository()}); !errors.Is(err, lifecycle.ErrNoRollback) {
		t.Errorf("when there is nothing before: %v", err)
	}

	forward := s.reconcile(cfg)
	s.sells(cfg, "CHF")
	if reasons := strings.Join(forward.Plan.Reasons, "; "); !strings.Contains(reasons, "rolled back") || forward.Receipt == third.Receipt {
		t.Errorf("HEAD is delivered again for %s", reasons)
	}
	if st := s.status(cfg); !st.IsLive() || st.Live.Record.Commit != head || st.Live.Record.RollbackOf != "" {
		t.Errorf("at the end: %+v", st.Live)
	}
}

// A delivery that does not become live is rolled back to what is live.
func TestRollbackOfAFailure(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	first := s.reconcile(cfg)
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "      nodeSelector: {no: such-node}\n")})
	s.commit("Ask for a node that is not there")
	_, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Timeout: 2 * time.Second})
	if !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Fatalf("the delivery that fails: %v", err)
	}
	failed := s.status(cfg).Applied.ID
	if _, err := s.lifecycle(cfg).Rollback(t.Context(), lifecycle.RollbackRequest{Receipt: failed, Repository: s.repository()}); !errors.Is(err, lifecycle.ErrNoRollback) {
		t.Errorf("to the one that failed: %v", err)
	}
	back := s.rollback(cfg, "")
	if st := s.status(cfg); !st.IsLive() || st.Live.Record.RollbackOf != first.Receipt || st.Live.ID != back.Receipt {
		t.Errorf("after the rollback: %+v", st)
	}
}

func TestRollbackIsRefused(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	first := s.reconcile(cfg)
	s.currency("NOK")
	s.reconcile(cfg)
	refused := func(why string, r lifecycle.RollbackRequest, is error, says string) {
		t.Helper()
		before := s.status(cfg)
		_, err := s.lifecycle(cfg).Rollback(t.Context(), r)
		if !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", why, err)
		}
		if after := s.status(cfg); after.Applied.ID != before.Applied.ID {
			t.Errorf("%s: the target was changed", why)
		}
	}

	release := s.hold(cfg, "ada@laptop")
	refused("held", lifecycle.RollbackRequest{Repository: s.repository()}, lifecycle.ErrBlocked, "ada@laptop")
	release()

	other := newShop(t, c)
	refused("another repository", lifecycle.RollbackRequest{Repository: other.repository()}, lifecycle.ErrNoRollback, "git fetch")
	refused("unknown", lifecycle.RollbackRequest{Receipt: receipt.ID("sha256:" + strings.Repeat("0", 64)), Repository: s.repository()}, lifecycle.ErrNoRollback, "receipts list")

	rec, err := s.lifecycle(cfg).ChooseRollback(t.Context(), "")
	if err != nil || rec.ID != first.Receipt {
		t.Fatalf("chosen is %+v, %v", rec, err)
	}
	s.lose(rec.Record.Images[0])
	refused("a lost image", lifecycle.RollbackRequest{Repository: s.repository()}, lifecycle.ErrNoRollback, "kubectl pharos reconcile")
}

// lose deletes an image from the registry.
func (s *shop) lose(image receipt.Image) {
	s.t.Helper()
	images, err := standard.NewRegistry(s.target(), s.options(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	push := s.registry + "/shop/" + image.Name
	if err := images.Delete(s.t.Context(), push, lifecycle.StoredImage{Digest: lifecycle.Digest(image.Digest)}); err != nil {
		s.t.Fatal(err)
	}
}

// A rollback that is killed is gone on with by the same call.
func TestRollbackKilledAt(t *testing.T) {
	t.Parallel()
	for _, at := range []lifecycle.EventType{
		lifecycle.EventPlanned, lifecycle.EventLeaseAcquired, lifecycle.EventReceiptWritten, lifecycle.EventAttemptRecorded, lifecycle.EventAppliedMoved,
		lifecycle.EventObjectApplied, lifecycle.EventDelivered, lifecycle.EventHealthy, lifecycle.EventOutcomeRecorded,
	} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			s := newShop(t, c)
			cfg := c.Config()
			first := s.reconcile(cfg)
			s.currency("NOK")
			second := s.reconcile(cfg)
			s.dieIn(c, killed{At: at, Rollback: true})
			l, request := s.lifecycle(cfg), lifecycle.RollbackRequest{Repository: s.repository(), Wait: patience}
			if _, err := l.Rollback(t.Context(), request); err != nil {
				t.Fatalf("run again after SIGKILL at %s: %v", at, err)
			}
			s.sells(cfg, "EUR")
			if st := s.status(cfg); !st.IsLive() || st.Live.Record.RollbackOf != first.Receipt || st.Live.Record.Parent != second.Receipt {
				t.Errorf("after the second run: %+v", st.Live)
			}
		})
	}
}
