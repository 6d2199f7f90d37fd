package lifecycle

import (
	"context"
	"errors"
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
func (o *operation) dryRun(ctx context.Context, r ReconcileRequest, images []*image, res *ReconcileResult) error {
	if res.Plan.Decision == DecideUnchanged {
		return nil
	}
	rendering, err := o.render(ctx, r.Commit.Tree, images)
	res.Findings = rendering.Findings
	lack := o.lackBuilders(images)
	if err != nil || r.DryRun == DryRunClient {
		return errors.Join(lack, err)
	}
	resolved, err := o.resolve(ctx, rendering.Objects)
	if err != nil {
		return errors.Join(lack, err)
	}
	done, err := o.Deliverer.Deliver(ctx, DeliverRequest{
		Objects: rendering.Objects, Resolved: resolved, Target: o.Target, Force: r.Force, DryRun: true,
	})
	res.Changes = done.Changes
	return errors.Join(lack, err)
}
