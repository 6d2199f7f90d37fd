package lifecycle

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// DryRun says how far a reconcile goes that changes nothing.
type DryRun string

// The kinds of dry run.
const (
	// DryRunNone is none: everything is done.
	DryRunNone DryRun = ""
	// DryRunClient reads the target, decides and renders.
	DryRunClient DryRun = "client"
	// DryRunServer has the server try every object too, so that mistakes in
	// manifests, conflicts and missing rights show.
	DryRunServer DryRun = "server"
)

// dryRun renders the commit and asks the server what each object would become,
// unless nothing would be done. Images that have to be built stand in it with a
// digest of zeros.
func (o *operation) dryRun(ctx context.Context, r ReconcileRequest, s *situation, images []*image, res *ReconcileResult) error {
	if res.Plan.Decision == DecideUnchanged {
		return nil
	}
	wrong := o.tryOut(ctx, r, images, res)
	return errors.Join(wrong, o.tryObjects(ctx, r, s, images, res))
}

// tryObjects asks the server what each object would become, if that is wanted.
func (o *operation) tryObjects(ctx context.Context, r ReconcileRequest, s *situation, images []*image, res *ReconcileResult) error {
	if o.rendering == nil || r.DryRun == DryRunClient {
		return nil
	}
	rendering := *o.rendering
	resolved, err := o.resolve(ctx, rendering.Objects)
	if err != nil {
		return err
	}
	done, err := o.Deliverer.Deliver(ctx, DeliverRequest{
		Objects: rendering.Objects, Resolved: resolved, Target: o.Target, Force: r.Force, Adopt: r.AdoptObjects, DryRun: true,
		Commit: source.ID(o.commit), Images: imageRefs(images), Completed: completedOf(resolved, s.completed, s.liveJobs), Prepared: r.prepared,
	})
	res.Changes, res.Untried = done.Changes, done.Untried
	for i := range res.Changes {
		res.Changes[i].Provisional = isProvisional(res.Changes[i].Object, rendering.Objects)
	}
	return err
}
