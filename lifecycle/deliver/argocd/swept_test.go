package argocd_test

import (
	"fmt"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// What an earlier lease of the target left closed is opened by whoever acquires the
// target's lease, and so it stands in the way of no look at a delivery; that of
// another target does.
func TestWindowOfALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	window := func(s *shop, target string) string {
		return fmt.Sprintf(`[{kind: deny, %s, applications: [%q, "pharos.dev/lease=pharos/%s/7/HOLDER/2026-11-30T12:00:00Z"]}]`, always, s.name, target)
	}
	t.Run("its own", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.project(window(s, s.name))
		s.root(automated)
		s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
		d, err := s.point(t.Context(), s.commit(s.single("")))
		if err == nil {
			t.Error("it is delivered while the window stands: Argo CD would not sync it")
		}
		if err := s.deliverer().Examine(t.Context(), d.request); err != nil {
			t.Errorf("examined: %v", err)
		}
	})
	t.Run("another's", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.project(window(s, "other"))
		s.root(automated)
		s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
		s.refused("sync window")
	})
}
