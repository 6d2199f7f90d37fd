package standard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// forgetful is a transport that notes what it is to forget, and which of that the
// store has at that moment.
type forgetful struct {
	published
	t      *testing.T
	store  receipt.Store
	err    error
	asked  []lifecycle.RetainRequest
	before int
}

func (f *forgetful) Retain(ctx context.Context, r lifecycle.RetainRequest) error {
	f.asked = append(f.asked, r)
	for _, id := range r.Dropped {
		if _, err := f.store.Get(ctx, id); err != nil {
			f.t.Errorf("the store forgot %s before the Git server did: %v", id.Short(), err)
		}
		f.before++
	}
	return f.err
}

// history adds a dozen receipts like one to the target's, that nothing needs.
func (s *shop) history(like receipt.ID) (old []receipt.ID) {
	s.t.Helper()
	store, err := s.receipts(devtest.Cluster(s.t).Config())
	if err != nil {
		s.t.Fatal(err)
	}
	for n := range 12 {
		r, err := store.Get(s.t.Context(), like)
		if err != nil {
			s.t.Fatal(err)
		}
		r.Commit = fmt.Sprintf("%040x", n)
		id, err := store.Put(s.t.Context(), r)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := store.AddOutcome(s.t.Context(), id, receipt.Outcome{Type: receipt.OutcomeAttempt, Time: time.Unix(1, 0), Operation: "op"}); err != nil {
			s.t.Fatal(err)
		}
		old = append(old, id)
	}
	return old
}

// A delivery that became live drops what is old: first on the Git server, then in
// the store. What is left undone is for the next one, and said.
func TestOldReceiptsAreDropped(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	store, err := s.receipts(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	s.write(map[string]string{"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [settings.yaml]\n", "pharos.yaml": onlySettings(s)})
	s.commit("Settings alone")
	first := s.reconcile(c.Config()).Receipt
	old := s.history(first)
	f := &forgetful{t: t, store: store, err: errors.New("the Git server is away")}
	deliver := func(currency string) lifecycle.ReconcileResult {
		t.Helper()
		s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: " + currency + "}\n"})
		s.commit("Pay in " + currency)
		config, err := standard.Config(s.target(), s.options(c.Config()))
		if err != nil {
			t.Fatal(err)
		}
		config.Keep, config.Transport = lifecycle.MinKeep, f
		l, err := lifecycle.New(config)
		if err != nil {
			t.Fatal(err)
		}
		res, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}

	res := deliver("USD")
	if len(res.Dropped) != 0 || len(f.asked) != 1 || !slices.ContainsFunc(res.Noticed, func(f lifecycle.Finding) bool { return strings.Contains(f.Message, "the Git server is away") }) {
		t.Errorf("with a Git server that is away: dropped %v, noticed %v", res.Dropped, res.Noticed)
	}
	if l, err := store.List(t.Context()); err != nil || len(l) != 14 {
		t.Errorf("%d receipts (%v), want all 14", len(l), err)
	}

	f.err = nil
	res = deliver("GBP")
	// Kept are the ten newest, of 15, and the first, which is before the live one.
	if want := old[:4]; !slices.Equal(res.Dropped, want) || f.before != 3+4 {
		t.Errorf("dropped %v, want %v; the Git server was asked for %d", res.Dropped, want, f.before)
	}
	if asked := f.asked[len(f.asked)-1]; asked.Inputs != nil {
		t.Errorf("inputs of a target without images: %v", asked.Inputs)
	}
	l, err := store.List(t.Context())
	if err != nil || len(l) != 11 || !slices.ContainsFunc(l, func(s receipt.Summary) bool { return s.ID == first }) {
		t.Errorf("%d receipts (%v), want 11 and the first among them", len(l), err)
	}
	st := s.status(c.Config())
	if !st.IsLive() {
		t.Errorf("the target is not live: %+v", st)
	}
	v, err := s.lifecycle(c.Config()).VerifyReceipts(t.Context())
	if err != nil || len(v.Findings) != 0 || len(v.Receipts) != 11 {
		t.Errorf("verified: %+v, %v", v, err)
	}

	// What is known of the live one can be lost to nobody.
	if err := store.Delete(t.Context(), res.Receipt); !errors.Is(err, receipt.ErrInUse) {
		t.Errorf("Delete of the live receipt: %v", err)
	}
}

// What is needed by what is kept is told by the records, whatever somebody wrote
// beside them: the receipts before the live one, and what a rollback repeats.
func TestKeptIsToldByRecords(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	store, err := s.receipts(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	s.write(map[string]string{"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [settings.yaml]\n", "pharos.yaml": onlySettings(s)})
	s.commit("Settings alone")
	first := s.reconcile(c.Config()).Receipt
	old := s.history(first)
	change := func(currency string) {
		s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: " + currency + "}\n"})
		s.commit("Pay in " + currency)
	}
	change("USD")
	second := s.reconcile(c.Config()).Receipt
	edit := []byte(`{"metadata":{"annotations":{"pharos.dev/parent":"","pharos.dev/commit":"none","pharos.dev/outcome":"{"}}}`)
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace)
	parts, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: "pharos.dev/receipt=" + second.Hex()[:40]})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range parts.Items {
		if _, err := maps.Patch(t.Context(), m.Name, types.MergePatchType, edit, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	back, err := store.Get(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	back.Commit, back.RollbackOf = strings.Repeat("a", 40), old[1]
	repeats, err := store.Put(t.Context(), back)
	if err != nil {
		t.Fatal(err)
	}
	change("GBP")
	config, err := standard.Config(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	config.Keep = lifecycle.MinKeep
	l, err := lifecycle.New(config)
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if err != nil {
		t.Fatal(err)
	}
	// Of 16, the ten newest are kept, and the first and the one that is repeated.
	if want := []receipt.ID{old[0], old[2], old[3], old[4]}; !slices.Equal(res.Dropped, want) {
		t.Errorf("dropped %v, want %v: %+v", res.Dropped, want, res.Noticed)
	}
	v, err := l.VerifyReceipts(t.Context())
	if err != nil || len(v.Findings) > 0 {
		t.Errorf("verified: %+v, %v", v, err)
	}
	if err := store.Delete(t.Context(), old[1]); err != nil {
		t.Fatal(err)
	}
	v, err = l.VerifyReceipts(t.Context())
	if err != nil || len(v.Findings) != 1 || v.Findings[0].Receipt != repeats || v.Findings[0].Subject != "rollback" {
		t.Errorf("verified: %+v, %v", v, err)
	}
}

// Whoever has Jobs or Argo CD fetch from a Git server publishes there, and has it
// forget what is old; nobody else needs one.
func TestWhoPublishes(t *testing.T) {
	t.Parallel()
	git := &standard.Git{URL: "http://git.example.com/repo.git", Push: "http://git.example.com/repo.git"}
	job := &standard.BuildKit{Job: &standard.BuildKitJob{Image: "moby/buildkit@sha256:" + strings.Repeat("0", 64)}}
	for name, tc := range map[string]struct {
		change func(*standard.Target)
		want   bool
	}{
		"apply":        {func(*standard.Target) {}, false},
		"a Git server": {func(t *standard.Target) { t.Git = git }, false},
		"Jobs":         {func(t *standard.Target) { t.Git, t.BuildKit = git, job }, true},
		"Argo CD": {func(t *standard.Target) {
			t.Git, t.Deliver = git, standard.Deliver{ArgoCD: &standard.ArgoCDDeliver{Namespace: "argocd", Root: "shop"}}
		}, true},
	} {
		target := standard.Target{Name: "shop", Namespace: "pharos", Overlay: "gitops", Registry: standard.Registry{Push: "localhost:5000/dev"}, Deliver: standard.Deliver{Apply: &standard.ApplyDeliver{}}}
		tc.change(&target)
		c, err := standard.Config(target, standard.Options{REST: &rest.Config{Host: "http://127.0.0.1:1"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := c.Transport != nil; got != tc.want {
			t.Errorf("%s: publishes: %v, want %v", name, got, tc.want)
		}
	}
}

// onlySettings is the shop's pharos.yaml without its images.
func onlySettings(s *shop) string {
	return `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
delivery: [gitops/**, pharos.yaml]
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: ` + s.namespace + `}
spec:
  namespace: ` + s.namespace + `
  registry: {push: "` + s.registry + `/shop", insecure: true}
  overlay: gitops
`
}
