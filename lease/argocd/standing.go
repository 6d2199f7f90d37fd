package argocd

import (
	"context"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

var _ lease.Looker = (*Gate)(nil)

// Look implements lease.Looker. It makes one call.
func (g *Gate) Look(ctx context.Context, c lease.Claim) ([]lease.Closed, error) {
	projects, err := g.client.Projects(ctx, g.config.Namespace)
	if err != nil {
		return nil, fail("look at the gate", "the AppProjects of namespace "+g.config.Namespace, err)
	}
	var list []lease.Closed
	for _, p := range projects {
		for _, stands := range p.Spec.SyncWindows {
			m, err := stands.Mark()
			if err != nil || m == nil || !m.Of(c.Namespace, c.Target) {
				continue
			}
			list = append(list, standing(p, stands, *m, c))
		}
	}
	return list, nil
}

func standing(p *argo.Project, stands argo.Window, m argo.Mark, c lease.Claim) lease.Closed {
	w, wrong := read(stands, m)
	return lease.Closed{
		Name: p.String(), Covers: w.names, Holder: m.Holder, Token: m.Token, Until: m.End,
		Opened: m.Ended, LeftOver: leftOver(m, c), Wrong: wrong,
	}
}
