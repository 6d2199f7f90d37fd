package standard_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// breakIt ends whoever's lease of the target, as somebody else.
func (s *shop) breakIt(cfg *rest.Config, holder string) (lease.Report, error) {
	s.t.Helper()
	m, err := standard.NewLease(s.target(), s.options(cfg))
	if err != nil {
		s.t.Fatal(err)
	}
	return m.Break(s.t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "a hotfix has to go out", Holder: holder})
}

// brokenAt delivers HEAD, and has the lease broken right after an event. It wants
// the delivery to stop before its next write.
func (s *shop) brokenAt(c *devenv.Cluster, at lifecycle.EventType) {
	s.t.Helper()
	cfg, other := c.Config(), c.Config()
	cfg.UserAgent, other.UserAgent = fmt.Sprintf("delivers-%s-%s", s.namespace, at), fmt.Sprintf("breaks-%s-%s", s.namespace, at)
	audit := devtest.RecordAudit(s.t, c)
	broken := false
	_, err := s.lifecycle(cfg).Reconcile(s.t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: func(e lifecycle.Event) {
		if e.Type != at || broken {
			return
		}
		broken = true
		if _, err := s.breakIt(other, ""); err != nil {
			s.t.Error(err)
		}
	}})
	if !broken {
		s.t.Fatalf("the event %s did not come: %v", at, err)
	}
	blocked, ok := errors.AsType[*lifecycle.BlockedError](err)
	if !ok || !strings.Contains(err.Error(), "bob@desk broke it") || !strings.Contains(err.Error(), "a hotfix has to go out") || blocked.Next == "" {
		s.t.Errorf("broken at %s: %v", at, err)
	}
	events := audit.Events(s.t, func(e devenv.AuditEvent) bool {
		return (e.UserAgent == cfg.UserAgent || e.UserAgent == other.UserAgent) && !slices.Contains([]string{"get", "list", "watch"}, e.Verb)
	})
	last := slices.IndexFunc(events, func(e devenv.AuditEvent) bool { return e.UserAgent == other.UserAgent })
	if last < 0 {
		s.t.Fatalf("the audit log does not show the break: %+v", events)
	}
	for _, e := range events[last+1:] {
		// It gives up the record, which is what it has lost, and guards nothing.
		if e.UserAgent == cfg.UserAgent && e.Resource != "leases" && e.Code < 400 {
			s.t.Errorf("broken at %s, and then %s %s", at, e.Verb, e.RequestURI)
		}
	}
}

// A delivery whose lease is broken writes nothing any more, wherever that happens.
func TestBrokenLeaseStopsADelivery(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	for i, at := range []lifecycle.EventType{lifecycle.EventLeaseAcquired, lifecycle.EventReceiptWritten, lifecycle.EventAttemptRecorded, lifecycle.EventAppliedMoved,
		lifecycle.EventObjectApplied, lifecycle.EventDelivered, lifecycle.EventHealthy, lifecycle.EventOutcomeRecorded} {
		// The settings are applied first, then the workloads.
		s.write(map[string]string{"gitops/api.yaml": deployment("api", fmt.Sprintf("      terminationGracePeriodSeconds: %d\n", 10+i))})
		s.currency(fmt.Sprintf("X%02d", i))
		s.brokenAt(c, at)
		s.reconcile(c.Config()) // the next one may
		if st := s.status(c.Config()); !st.IsLive() || st.Lease.Broken == nil || st.Lease.Broken.By != "bob@desk" {
			t.Errorf("after the next delivery: %+v", st)
		}
	}
}

// So does one through Argo CD.
func TestArgoCDBrokenLeaseStopsADelivery(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	c := s.argo.Cluster()
	s.deploy(c.Config())
	for i, at := range []lifecycle.EventType{lifecycle.EventCommitPublished, lifecycle.EventAppliedMoved, lifecycle.EventObjectApplied, lifecycle.EventHealthy} {
		s.write(map[string]string{"gitops/api/settings.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: X%02d}\n", i)})
		s.commit("Change the currency")
		s.brokenAt(c, at)
	}
	s.reconcile(c.Config())
	s.live()
}

// A preparation whose lease is broken writes nothing any more.
func TestBrokenLeaseStopsAPreparation(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newBareShop(t, c)
	s.elsewhere(c)
	broken := ""
	res, err := s.lifecycle(c.Config()).Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: func(e lifecycle.Event) {
		if e.Type == lifecycle.EventStepPrepared && broken == "" {
			broken = e.Step
			if _, err := s.breakIt(c.Config(), ""); err != nil {
				t.Error(err)
			}
		}
	}})
	if !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v", err)
	}
	for i, step := range res.Steps {
		if i > 0 && len(step.Changes) > 0 {
			t.Errorf("broken after %s, and then it did %+v", broken, step)
		}
	}
	if at := s.checkpoint(c.Config()); len(at.Steps) != 1 || at.Steps[0].Name != broken {
		t.Errorf("the checkpoint has %+v", at.Steps)
	}
	s.nothingRecorded(c.Config())
	s.deploy(c.Config())
}
