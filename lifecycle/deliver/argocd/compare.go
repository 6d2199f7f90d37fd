package argocd

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/lifecycle"
)

var _ lifecycle.Comparer = (*Deliverer)(nil)

// Compare asks the cluster what it would make of the objects, as Config.Objects
// does, which has to be a lifecycle.Comparer too. What Argo CD applied is no
// conflict: it is how these objects are delivered. Fields that a commit leaves
// out are not among the differences, since they are Argo CD's to take away.
//
// It needs the rights of package apply: a dry run is authorised like the write.
func (d *Deliverer) Compare(ctx context.Context, r lifecycle.DeliverRequest) ([]lifecycle.Comparison, error) {
	c, ok := d.objects.(lifecycle.Comparer)
	if !ok {
		return nil, errors.New("argocd: Config.Objects cannot compare")
	}
	r.Force, r.Adopt = true, true
	return c.Compare(ctx, r)
}
