package argocd

import (
	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/receipt"
)

// declaredHealthy says that what the commit declares was looked at and is
// healthy. It is asked where there is more than that: Argo CD counts what is
// declared no more in an Application's health, so that a Job that has failed
// once would fail every later commit, while nothing is ever deleted.
func (p *watched) declaredHealthy() bool {
	if p.app == nil || !p.answered || len(p.why) > 0 || !p.verdict.Synced {
		return false
	}
	more := false
	for _, r := range p.app.Status.Resources {
		if r.Hook {
			continue // it does not count
		}
		if r.RequiresPruning {
			more = true
			continue
		}
		if !judged(r, p.app.Status.Health.Status) {
			return false
		}
	}
	return more
}

// judged says whether looking at what is declared tells all that Argo CD knows of
// a resource's health: it is of a kind that package apply judges, or of one that
// has none, or can at least not be what gives the Application its health.
func judged(r argo.ResourceStatus, health string) bool {
	if runs(receipt.Object{Group: r.Group, Kind: r.Kind}) {
		return true
	}
	switch r.Group {
	case "":
		// One waits for its load balancer, and is never degraded.
		return r.Kind != "Service" || health == "Degraded"
	case "rbac.authorization.k8s.io", "policy", "scheduling.k8s.io", "storage.k8s.io":
		return true
	case "networking.k8s.io":
		return r.Kind == "NetworkPolicy" || r.Kind == "Ingress" && health == "Degraded"
	}
	return isApplication(r.Group, r.Kind)
}
