package standard_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// killed is what a process that dies in the middle of a delivery is told.
type killed struct {
	Kubeconfig, Repo string
	// At is the event at which it dies; or else Build is the build, counted from
	// 1, one at a time.
	At    lifecycle.EventType
	Build int
	// Deploy has it deploy, and die at the event for the Nth time, counted from 1.
	Deploy bool
	Nth    int
	// Rollback has it roll back instead, HandBack hand back the lease of that holder,
	// and Borrow borrow as that holder and die when it has.
	Rollback         bool
	HandBack, Borrow string
}

// patience is how long a lease is waited for: that of a process that is dead, or that
// of a delivery on a busy machine.
const patience = 5 * time.Minute

func TestMain(m *testing.M) { killtest.Main(m, deliverAndDie) }

// deliverAndDie reconciles until the event, or the build, and sends itself SIGKILL
// there.
func deliverAndDie(ctx context.Context, k killed) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	repo, err := source.Open(k.Repo)
	if err != nil {
		return err
	}
	commit, err := repo.Commit(ctx, "")
	if err != nil {
		return err
	}
	targets, err := standard.ReadTargets(ctx, commit.Tree)
	if err != nil {
		return err
	}
	config, err := standard.Config(targets[0], standard.Options{REST: cfg, Actor: "killed@localhost", Env: os.Environ(), Checkout: k.Repo, Lease: lease.Config{
		// Soon forgotten once it is dead, and long enough not to be lost before.
		Deliver: lease.Timing{Duration: 10 * time.Second, RenewEvery: 2 * time.Second},
		Margin:  2 * time.Second, Grace: time.Second, RetryPeriod: 500 * time.Millisecond, RequestTimeout: 2 * time.Second,
	}})
	if err != nil {
		return err
	}
	if k.Build > 0 {
		n := 0
		config.Jobs = 1
		config.Builders["go"] = &staged{Builder: config.Builders["go"], before: func(context.Context, string) error {
			if n++; n == k.Build {
				killtest.Die()
			}
			return nil
		}}
	}
	if config.Transport == nil {
		config.Transport = published{}
	}
	l, err := lifecycle.New(config)
	if err != nil {
		return err
	}
	seen := 0
	r := lifecycle.ReconcileRequest{Commit: commit, Repository: repo, Wait: patience, Events: func(e lifecycle.Event) {
		if e.Type == k.At {
			if seen++; seen >= k.Nth {
				killtest.Die()
			}
		}
	}}
	switch {
	case k.HandBack != "":
		_, err = l.HandBack(ctx, lifecycle.HandBackRequest{Holder: k.HandBack, Events: r.Events})
	case k.Borrow != "":
		if _, err = l.Borrow(ctx, lifecycle.BorrowRequest{Holder: k.Borrow, Purpose: "a look", For: 20 * time.Second}); err == nil {
			killtest.Die()
		}
	case k.Deploy:
		_, err = l.Deploy(ctx, r)
	case k.Rollback:
		_, err = l.Rollback(ctx, lifecycle.RollbackRequest{Repository: repo, Wait: r.Wait, Events: r.Events})
	default:
		_, err = l.Reconcile(ctx, r)
	}
	return fmt.Errorf("the event %s never came: %w", k.At, err)
}

// published is a transport for a target that fetches nothing.
type published struct{}

func (published) Publish(context.Context, lifecycle.PublishRequest) error { return nil }

func (published) Retain(context.Context, lifecycle.RetainRequest) error { return nil }

// dieIn delivers HEAD in a process that dies meanwhile.
func (s *shop) dieIn(c *devenv.Cluster, k killed) {
	s.t.Helper()
	k.Kubeconfig, k.Repo = c.Kubeconfig(), s.dir
	if !killtest.Run(s.t, k) {
		s.t.Fatal("the process ended by itself")
	}
}

func TestKilledAt(t *testing.T) {
	for _, at := range lifecycle.EventTypes() {
		switch at {
		case lifecycle.EventStepPrepared, lifecycle.EventPrepared:
			continue // of a deploy: TestDeployKilledAt
		case lifecycle.EventGateOpened:
			continue // of a hand-back: TestHandBackKilledAt
		}
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			killAt(t, at)
		})
	}
}

// killAt kills a process with SIGKILL when it has sent an event, runs the same
// again, and wants what an undisturbed delivery leaves.
func killAt(t *testing.T, at lifecycle.EventType) {
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.reconcile(c.Config())
	s.write(map[string]string{
		"libs/price/p.go":      "package price\n\nfunc Of(n int) int { return n * 5 }\n",
		"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: NOK}\n",
	})
	head := s.commit("Change the library and the currency")

	release := func() {}
	if at == lifecycle.EventLeaseAwaited {
		release = s.hold(c.Config(), "ada@laptop")
	}
	s.dieIn(c, killed{At: at})

	release()
	res, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: patience})
	if err != nil {
		t.Fatalf("run again after SIGKILL at %s: %v", at, err)
	}
	st := s.status(c.Config())
	if !st.IsLive() || st.Live.ID != res.Receipt || st.Live.Record.Commit != head || st.Lease.Held {
		t.Errorf("after the second run: %+v", st)
	}
	if st.Live.Record.Parent != first.Receipt {
		t.Errorf("the receipt's parent is %s, want %s: an extra receipt was made", st.Live.Record.Parent, first.Receipt)
	}
	settings, err := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || settings.Data["currency"] != "NOK" {
		t.Errorf("settings %v, %v", settings.Data, err)
	}
	store, err := standard.NewReceipts(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Last.Type != receipt.OutcomeLive || list[1].Last.Type != receipt.OutcomeSuperseded {
		t.Errorf("the receipts came to %+v, %v", list, err)
	}
	if again := s.reconcile(c.Config()); again.Plan.Decision != lifecycle.DecideUnchanged {
		t.Errorf("and a third run decides %s: %s", again.Plan.Decision, strings.Join(again.Plan.Reasons, "; "))
	}
}
