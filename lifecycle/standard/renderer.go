package standard

import (
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// NewRenderer returns the renderer of a target's overlay. It needs no cluster, so
// Options.REST may be nil, and makes no call.
func NewRenderer(_ Target, o Options) (lifecycle.Renderer, error) {
	return render.New(render.WithCache(o.Renderings)), nil
}
