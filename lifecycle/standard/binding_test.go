package standard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// deliver delivers a shop's last commit.
func (s *shop) deliver(adopt bool) (lifecycle.ReconcileResult, error) {
	s.t.Helper()
	return s.lifecycle(devtest.Cluster(s.t).Config()).Reconcile(s.t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Adopt: adopt})
}

// owner is the first commit of the repository that the target belongs to.
func (s *shop) owner() string {
	s.t.Helper()
	store, err := s.receipts(devtest.Cluster(s.t).Config())
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := store.Pointers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return p.Repository
}

// clone clones a shop's repository.
func (s *shop) clone(args ...string) *shop {
	s.t.Helper()
	dir := s.t.TempDir()
	s.git(append(append([]string{"clone", "-q"}, args...), "file://"+s.dir, dir)...)
	return &shop{t: s.t, dir: dir, namespace: s.namespace, registry: s.registry}
}

func (s *shop) changeCurrency(to string) string {
	s.t.Helper()
	s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: " + to + "}\n"})
	return s.commit("Change the currency to " + to)
}

// TestAdoptNeedsHistory does not let a shallow clone take a target over: the
// target would belong to nobody, and so to anybody, afterwards.
func TestAdoptNeedsHistory(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.Cluster(t))
	if _, err := s.deliver(false); err != nil {
		t.Fatal(err)
	}
	owner := s.owner()
	other := s.clone()
	other.git("checkout", "-q", "--orphan", "other")
	other.commit("Another shop")
	other.changeCurrency("CHF")
	shallow := other.clone("--depth=1", "--branch=other")
	for _, adopt := range []bool{false, true} {
		if _, err := shallow.deliver(adopt); !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "git fetch --unshallow") {
			t.Fatalf("from a shallow clone, adopt %v: %v, want an ErrBlocked that asks for the history", adopt, err)
		}
	}
	if now := s.owner(); now != owner {
		t.Errorf("the target belongs to %q, want %s", now, owner)
	}
	shallow.git("fetch", "-q", "--unshallow")
	if _, err := shallow.deliver(true); err != nil {
		t.Fatalf("with the history: %v", err)
	}
	if want := shallow.git("rev-list", "--max-parents=0", "HEAD"); s.owner() != want {
		t.Errorf("the target belongs to %q, want %s", s.owner(), want)
	}
}

// TestRewrittenHistory binds a target anew whose history begins elsewhere since
// it was rewritten, so that clones that are made now are let in.
func TestRewrittenHistory(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.Cluster(t))
	if _, err := s.deliver(false); err != nil {
		t.Fatal(err)
	}
	before := s.owner()
	s.git("checkout", "-q", "--orphan", "rewritten")
	root := s.changeCurrency("CHF")
	s.changeCurrency("JPY")
	if _, err := s.deliver(false); err != nil {
		t.Fatal(err)
	}
	if s.owner() != before {
		t.Errorf("a repository that has the first commit bound the target to %s", s.owner())
	}
	fresh := s.clone("--branch=rewritten", "--single-branch")
	shallow := fresh.clone("--depth=1", "--branch=rewritten")
	shallow.changeCurrency("USD")
	if _, err := shallow.deliver(false); err != nil {
		t.Fatal(err)
	}
	if s.owner() != before {
		t.Errorf("a shallow clone bound the target to %q", s.owner())
	}
	fresh.git("pull", "-q", shallow.dir, "rewritten")
	fresh.changeCurrency("GBP")
	if _, err := fresh.deliver(false); err != nil {
		t.Fatal(err)
	}
	if s.owner() != root {
		t.Errorf("the target belongs to %s, want the first commit of now, %s", s.owner(), root)
	}
}
