package standard

import (
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// NewRenderer returns the renderer of a target's overlay, and of what Argo CD
// delivers with it. It needs no cluster, so Options.REST may be nil, and makes no
// call.
func NewRenderer(t Target, o Options) (lifecycle.Renderer, error) {
	overlays := render.New(render.WithCache(o.Renderings))
	if t.Deliver.ArgoCD == nil {
		return overlays, nil
	}
	l, err := layout(t)
	if err != nil {
		return nil, err
	}
	return argocd.NewRenderer(l, overlays)
}
