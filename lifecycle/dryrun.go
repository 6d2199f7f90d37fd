package lifecycle

import "context"

// dryRun renders the commit and asks the server what each object would become,
// unless nothing would be done. Images that have to be built stand in it with a
// digest of zeros.
func (o *operation) dryRun(ctx context.Context, r ReconcileRequest, images []*image, res *ReconcileResult) error {
	if res.Plan.Decision == DecideUnchanged {
		return nil
	}
	rendering, err := o.render(ctx, r.Commit.Tree, images)
	res.Findings = rendering.Findings
	if err != nil {
		return err
	}
	resolved, err := o.resolve(ctx, rendering.Objects)
	if err != nil {
		return err
	}
	done, err := o.Deliverer.Deliver(ctx, DeliverRequest{
		Objects: rendering.Objects, Resolved: resolved, Target: o.Target, Force: r.Force, DryRun: true,
	})
	res.Changes = done.Changes
	return err
}
