package argocd_test

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// One Application with the overlay of the target.
func TestSingleApplication(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	c := s.commit(s.single(""))
	s.root(automated)
	d := s.deliver(c)
	if got, want := s.image("api"), registry+"/api@"+string(digest(1)); got != want {
		t.Errorf("runs %s, want %s", got, want)
	}
	if len(d.seen.Applications) != 1 || d.seen.Applications[0].Revisions[0] != string(c.ID) || len(d.seen.Unready) != 0 || len(d.seen.Seen) != 1 {
		t.Errorf("saw %+v", d.seen)
	}
	s.images[0].Digest = digest(3)
	s.deliver(s.commit(nil))
	if got, want := s.image("api"), registry+"/api@"+string(digest(3)); got != want {
		t.Errorf("runs %s, want %s", got, want)
	}
}

// A root whose overlay declares two Applications.
func TestAppOfApps(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	for n := range 2 {
		s.images[0].Digest = digest(3 + n)
		d := s.deliver(s.commit(s.appOfApps(automated, "api", "web")))
		if got, want := s.image("api"), registry+"/api@"+string(digest(3+n)); got != want {
			t.Errorf("runs %s, want %s", got, want)
		}
		if len(d.seen.Applications) != 3 || d.seen.Applications[0].Name != s.name {
			t.Errorf("saw %s", names(d.seen.Applications))
		}
	}
}
