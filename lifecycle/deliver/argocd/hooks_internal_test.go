package argocd

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// A hook that the commit declares is no orphan, nor is one that Argo CD named
// itself; one that an earlier receipt names and this commit does not is.
func TestHooksAreNoOrphans(t *testing.T) {
	t.Parallel()
	job := func(name string) receipt.Object {
		return receipt.Object{Group: "batch", Version: "v1", Resource: "jobs", Kind: "Job", Namespace: "shop", Name: name}
	}
	var v argo.Verdict
	for _, name := range []string{"migrate", "generated-1", "gone"} {
		v.Hooks = append(v.Hooks, argo.Resource{Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: name})
	}
	first := lifecycle.ObserveRequest{Objects: []receipt.Object{job("migrate")}}
	if list := orphans(v, first); len(list) != 0 {
		t.Errorf("at the first delivery: %+v", list)
	}
	later := first
	later.Earlier = []receipt.Object{job("migrate"), job("gone")}
	if list := orphans(v, later); len(list) != 1 || list[0].Name != "gone" {
		t.Errorf("later: %+v", list)
	}
}

// What the commit declares is no orphan, although somebody pointed the
// Application at another revision, which does not.
func TestDeclaredIsNoOrphan(t *testing.T) {
	t.Parallel()
	v := argo.Verdict{Orphans: []argo.Resource{{Kind: "Service", Version: "v1", Namespace: "shop", Name: "api"}, {Kind: "Service", Version: "v1", Namespace: "shop", Name: "old"}}}
	r := lifecycle.ObserveRequest{Objects: []receipt.Object{{Version: "v1", Kind: "Service", Resource: "services", Namespace: "shop", Name: "api"}}}
	if list := orphans(v, r); len(list) != 1 || list[0].Name != "old" {
		t.Errorf("got %+v", list)
	}
}

// A hook's health is not the Application's, so a Job of which only a hook is left
// is not asked for reasons, and hides none.
func TestHooksDoNotCount(t *testing.T) {
	t.Parallel()
	app := &argo.Application{}
	app.Status.Health.Status = "Degraded"
	app.Status.Resources = []argo.ResourceStatus{
		{Resource: argo.Resource{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}, Hook: true, RequiresPruning: true},
	}
	hook := receipt.Object{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}
	p := &watched{part: &part{app: app}, answered: true, verdict: argo.Verdict{Synced: true}}
	if p.declaredHealthy() {
		t.Error("nothing but a hook is left, and the Application is healthy because of it")
	}
	w := &watching{r: lifecycle.ObserveRequest{Objects: []receipt.Object{hook}}}
	if r := w.request(p, nil); len(r.Objects) != 0 {
		t.Errorf("asked for %+v", r.Objects)
	}
	if r := w.request(p, []receipt.Object{hook}); len(r.Objects) != 1 {
		t.Errorf("of a sync that failed, asked for %+v", r.Objects)
	}
}
