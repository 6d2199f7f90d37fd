package standard_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// recorder keeps events.
type recorder struct{ events []lifecycle.Event }

func (r *recorder) event(e lifecycle.Event) { r.events = append(r.events, e) }

func (r *recorder) built() []string {
	names := built(r.events)
	slices.Sort(names)
	return names
}

func TestReconcileStory(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	deliver := func(request lifecycle.ReconcileRequest) (*recorder, lifecycle.ReconcileResult, error) {
		rec := &recorder{}
		request.Commit, request.Repository, request.Events = s.head(), s.repository(), rec.event
		res, err := s.lifecycle(c.Config()).Reconcile(t.Context(), request)
		return rec, res, err
	}
	mustDeliver := func() (*recorder, lifecycle.ReconcileResult) {
		t.Helper()
		rec, res, err := deliver(lifecycle.ReconcileRequest{})
		if err != nil {
			t.Fatalf("reconcile: %v", err)
		}
		return rec, res
	}

	rec, first := mustDeliver()
	if got := rec.built(); !slices.Equal(got, []string{"api", "mail"}) {
		t.Fatalf("the first commit built %v, want both images", got)
	}
	if st := s.status(c.Config()); !st.IsLive() || st.Live.ID != first.Receipt || st.Live.Record.Commit != string(s.head().ID) {
		t.Fatalf("after the first delivery the status is %+v", st)
	}

	_, again := mustDeliver()
	if again.Plan.Decision != lifecycle.DecideUnchanged || again.Receipt != first.Receipt {
		t.Fatalf("the same commit again: %s, receipt %s, want unchanged at %s\n%s", again.Plan.Decision, again.Receipt, first.Receipt, strings.Join(again.Plan.Reasons, "\n"))
	}

	s.write(map[string]string{"libs/price/p.go": "package price\n\nfunc Of(n int) int { return n * 4 }\n"})
	s.commit("Raise prices")
	rec, second := mustDeliver()
	if got := rec.built(); !slices.Equal(got, []string{"api"}) {
		t.Fatalf("a change of the library built %v, want its only user", got)
	}

	s.write(map[string]string{"docs/a.md": "words\n"})
	s.commit("Say something")
	_, docs := mustDeliver()
	if docs.Plan.Decision != lifecycle.DecideUnchanged || docs.Receipt != second.Receipt {
		t.Fatalf("a docs-only commit: %s\n%s", docs.Plan.Decision, strings.Join(docs.Plan.Reasons, "\n"))
	}

	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "      nodeSelector: {no: such-node}\n")})
	s.commit("Ask for a node that is not there")
	_, failed, err := deliver(lifecycle.ReconcileRequest{Timeout: 5 * time.Second})
	if !errors.Is(err, lifecycle.ErrUnhealthy) || !strings.Contains(err.Error(), "node") {
		t.Fatalf("a delivery that cannot be scheduled: %v", err)
	}
	st := s.status(c.Config())
	if st.IsLive() || st.Applied.ID != failed.Receipt || st.Live.ID != second.Receipt || st.Last.Type != receipt.OutcomeFailed {
		t.Fatalf("after the failure: applied %s, live %s, last %+v; want %s and %s", st.Applied.ID, st.Live.ID, st.Last, failed.Receipt, second.Receipt)
	}

	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "")})
	s.git("rm", "-q", "gitops/settings.yaml")
	s.write(map[string]string{"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml, mail.yaml]\n"})
	s.commit("Mend it, and drop the settings")
	_, fixed := mustDeliver()
	if len(fixed.Orphans) != 1 || fixed.Orphans[0].Name != "settings" {
		t.Errorf("orphans %+v, want the ConfigMap that was dropped", fixed.Orphans)
	}
	if st := s.status(c.Config()); !st.IsLive() || st.Live.ID != fixed.Receipt {
		t.Errorf("after the fix: %+v", st)
	}
	if _, err := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "settings", metav1.GetOptions{}); err != nil {
		t.Errorf("the orphan is gone: %v", err)
	}
}

func TestReconcileRepairsDrift(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.reconcile(c.Config())
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace)
	if _, err := maps.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"currency":"USD"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if st := s.status(c.Config()); st.IsLive() || len(st.Observation.Drifted) != 1 {
		t.Fatalf("an edit by hand is not seen as drift: %+v", st.Observation)
	}
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if !errors.Is(err, lifecycle.ErrConflict) || !strings.Contains(err.Error(), ".data.currency") {
		t.Fatalf("a field that somebody else took: %v", err)
	}
	res, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Receipt != first.Receipt {
		t.Errorf("delivering the same again made receipt %s of %s", res.Receipt, first.Receipt)
	}
	cm, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || cm.Data["currency"] != "EUR" {
		t.Errorf("after the repair: %v, %v", cm.Data, err)
	}
	if !s.status(c.Config()).IsLive() {
		t.Error("the repaired target is not live")
	}
}

// TestReconcileNoticesEditsWhileItWaits changes an object by hand between its
// apply and the last look at the target.
func TestReconcileNoticesEditsWhileItWaits(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace)
	edit := func(e lifecycle.Event) {
		if e.Type != lifecycle.EventDelivered {
			return
		}
		if _, err := maps.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"currency":"USD"}}`), metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
			t.Error(err)
		}
	}
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: edit})
	if !errors.Is(err, lifecycle.ErrUnhealthy) || !strings.Contains(err.Error(), "settings") || !strings.Contains(err.Error(), "by-hand") {
		t.Errorf("got %v, want an ErrUnhealthy that names the object and who changed it", err)
	}
	if st := s.status(c.Config()); st.IsLive() || st.Live != nil {
		t.Errorf("what somebody else wrote became live: %+v", st.Live)
	}
	if _, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}); !errors.Is(err, lifecycle.ErrConflict) {
		t.Errorf("the next delivery got %v, want the conflict", err)
	}
}

func TestReconcileRefusesWhileTheLeaseIsHeld(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	release := s.hold(c.Config(), "ada@laptop")
	s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: SEK}\n"})
	s.commit("Change the currency")
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	var blocked *lifecycle.BlockedError
	if !errors.As(err, &blocked) || blocked.Holder != "ada@laptop" || blocked.Mode != "borrow" || blocked.Until.IsZero() || !strings.Contains(err.Error(), "debugging") {
		t.Fatalf("under another's lease: %#v", err)
	}
	dry, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: lifecycle.DryRunServer, Wait: time.Hour})
	if !errors.As(err, &blocked) || dry.Plan.Decision != lifecycle.DecideDeliver || len(dry.Changes) != 3 {
		t.Errorf("a dry run: %+v, %v; want the plan, the changes and who holds the lease", dry, err)
	}
	release()
	s.reconcile(c.Config())
	if !s.status(c.Config()).IsLive() {
		t.Error("not live after the lease was released")
	}
}

// TestReconcileWaitsForTheLease wants to hear whom it waits for, once each.
func TestReconcileWaitsForTheLease(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	release := s.hold(c.Config(), "ada@laptop")
	var waitedFor []string
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: time.Hour, Events: func(e lifecycle.Event) {
		if e.Type != lifecycle.EventLeaseAwaited {
			return
		}
		waitedFor = append(waitedFor, e.Lease.User)
		if e.Lease.Mode != lease.ModeBorrow || e.Lease.Expires.IsZero() || e.Lease.Purpose != "debugging" {
			t.Errorf("it waits for %+v", e.Lease)
		}
		release()
		if len(waitedFor) == 1 {
			release = s.hold(c.Config(), "bob@desk")
		}
	}})
	if err != nil || !slices.Equal(waitedFor, []string{"ada@laptop", "bob@desk"}) {
		t.Errorf("waited for %v, %v", waitedFor, err)
	}
	// Nobody waits longer than was asked for.
	defer s.hold(c.Config(), "ada@laptop")()
	_, err = s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: time.Millisecond})
	if !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("after a short wait: %v, want an ErrBlocked", err)
	}
}

func TestReconcileRefusesAnotherCluster(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	cfg, err := standard.Config(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cluster = elsewhere{cfg.Cluster}
	l, err := lifecycle.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Fatalf("receipts of another cluster: %v", err)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg, requests := devtest.Count(c.Config())
	res, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: lifecycle.DryRunServer})
	if err != nil || res.Plan.Decision != lifecycle.DecideBuild || res.Receipt != "" {
		t.Fatalf("dry run: %+v, %v", res, err)
	}
	if len(res.Changes) != 3 {
		t.Errorf("it says %d changes, want the three objects", len(res.Changes))
	}
	client, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: lifecycle.DryRunClient})
	if err != nil || client.Plan.Decision != res.Plan.Decision || len(client.Changes) != 0 {
		t.Errorf("dry run by the client alone: %+v, %v", client, err)
	}
	for _, r := range requests.Requests() {
		if r.Method != http.MethodGet && !strings.Contains(r.Query, "dryRun=All") {
			t.Errorf("%s %s?%s, want only reads and dry runs", r.Method, r.Path, r.Query)
		}
	}
}

// TestTargetsDoNotTakeObjectsFromEachOther delivers one overlay to two targets
// of a cluster.
func TestTargetsDoNotTakeObjectsFromEachOther(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	second := s.target()
	second.Name += "-too"
	s.prepared(c.Config(), second, s.git("rev-parse", "HEAD"))
	l, err := standard.New(second, s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if !errors.Is(err, lifecycle.ErrConflict) || !strings.Contains(err.Error(), s.target().Name) {
		t.Errorf("the second target got %v, want a conflict that names the first", err)
	}
	if !s.status(c.Config()).IsLive() {
		t.Error("the first target is not live any more")
	}
}

// TestNoOpCalls holds the cost of doing nothing: who the cluster is, its nodes, the
// lease, the pointers, the receipt with its outcomes, and one list for each
// resource.
func TestNoOpCalls(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	cfg, requests := devtest.Count(c.Config())
	res := s.reconcile(cfg)
	if res.Plan.Decision != lifecycle.DecideUnchanged {
		t.Fatalf("decision %s: %v", res.Plan.Decision, res.Plan.Reasons)
	}
	const resources = 2 // Deployments, ConfigMaps
	if n := len(requests.Requests()); n > 5+resources {
		t.Errorf("doing nothing took %d requests, want at most %d:\n%v", n, 5+resources, requests.Requests())
	}
	onlyReads(t, requests)
}

func onlyReads(t *testing.T, requests *devtest.Counter) {
	t.Helper()
	for _, r := range requests.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s, want only reads", r.Method, r.Path)
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	acquired, goOn := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: func(e lifecycle.Event) {
			if e.Type == lifecycle.EventLeaseAcquired {
				close(acquired)
				<-goOn
			}
		}})
		first <- err
	}()
	<-acquired
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	close(goOn)
	var blocked *lifecycle.BlockedError
	if !errors.As(err, &blocked) || blocked.Holder != "test@localhost" || blocked.Mode != "deliver" {
		t.Errorf("the second says %v, want who delivers", err)
	}
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
}

// TestDecidesAgainUnderTheLease delivers the same commit while a first delivery
// is between reading the target and taking its lease.
func TestDecidesAgainUnderTheLease(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	var inner lifecycle.ReconcileResult
	res, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: func(e lifecycle.Event) {
		if e.Type == lifecycle.EventPlanned && inner.Receipt == "" {
			inner = s.reconcile(c.Config())
		}
	}})
	if err != nil || res.Plan.Decision != lifecycle.DecideUnchanged || res.Receipt != inner.Receipt {
		t.Errorf("it decided %s with receipt %s, %v; want unchanged at %s", res.Plan.Decision, res.Receipt, err, inner.Receipt)
	}
}

// elsewhere is a cluster with another identity.
type elsewhere struct{ lifecycle.Cluster }

func (elsewhere) UID(context.Context) (string, error) { return "another", nil }
