package lifecycle

import (
	"context"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// examine asks a Deliverer that can tell whether it would refuse the delivery, so
// that nothing is recorded or prepared for one that does not begin.
func (o *operation) examine(ctx context.Context, r DeliverRequest) error {
	e, ok := o.Deliverer.(Examiner)
	if !ok {
		return nil
	}
	return e.Examine(ctx, r)
}

// examineFirst examines the delivery that comes after a preparation, with the
// images as far as they are known.
func (o *operation) examineFirst(ctx context.Context, r ReconcileRequest) error {
	if o.rendering == nil {
		return nil
	}
	resolved, err := o.resolve(ctx, o.rendering.Objects)
	if err != nil {
		return err
	}
	return o.examine(ctx, DeliverRequest{
		Objects: o.rendering.Objects, Resolved: resolved, Target: o.Target, Force: r.Force, Adopt: r.AdoptObjects, DryRun: true,
		Commit: source.ID(o.commit), Prepared: r.prepared,
	})
}

// preparedBy are the objects that the steps make.
func preparedBy(steps []PrepareStep) []Object {
	var list []Object
	for _, step := range steps {
		list = slices.Concat(list, step.Create, step.Apply)
	}
	return list
}
