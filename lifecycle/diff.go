package lifecycle

import (
	"bytes"
	"context"
	"errors"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

// DiffRequest is a commit, or another tree, to compare with the target.
type DiffRequest struct {
	// Commit is what would be delivered. Its ID is empty for a tree that is of no
	// commit, such as a working tree's.
	Commit source.Commit
	// Force and AdoptObjects are as of ReconcileRequest: they change what a
	// delivery would do to what others own.
	Force, AdoptObjects bool
}

// Diff is what a delivery would change on the target.
type Diff struct {
	// Images are all images of the catalogue, in its order. One that has to be
	// built stands in the objects with a digest of zeros.
	Images []ImageStatus
	// Changes are the objects that would be created or become another one, in the
	// order in which they would be applied, and those that a delivery would leave
	// alone because others own them. Live and Merged are without what the target
	// alone writes: the status, and in the metadata what counts and dates writes.
	// The values of Secrets are masked: "***", and where a value would change,
	// "*** (before)" and "*** (after)".
	Changes []Comparison
	// Orphans are objects of earlier receipts that are not among the commit's.
	// Nobody deletes them.
	Orphans []receipt.Object
	// Findings are those of the rendering.
	Findings []Finding
}

// Diff asks the target what a delivery of a commit would change, and changes
// nothing. It does not matter who holds the lease, or whom the target belongs to.
//
// Beside an error of single objects, such as a *ConflictError, stands what is
// known of the others. Errors are those of Reconcile; a Deliverer that is no
// Comparer cannot be asked.
func (l *Lifecycle) Diff(ctx context.Context, r DiffRequest) (Diff, error) {
	d, err := l.diff(ctx, r)
	return d, TargetError(err)
}

func (l *Lifecycle) diff(ctx context.Context, r DiffRequest) (d Diff, err error) {
	comparer, ok := l.Deliverer.(Comparer)
	if !ok {
		return d, &Error{Op: "compare with", On: l.Target, Err: errors.New("its way of delivery cannot tell what it would change"),
			Advice: "What would be delivered shows: kubectl pharos render"}
	}
	w, err := l.want(ctx, r.Commit)
	if err != nil {
		return d, err
	}
	s, err := l.assess(ctx)
	if err != nil {
		return d, err
	}
	images, err := l.findImages(ctx, w.states, s)
	if err != nil {
		return d, err
	}
	d.Images = imageStatuses(images)
	o := l.begin(string(r.Commit.ID), nil)
	rendering, err := o.render(ctx, r.Commit.Tree, images)
	if err != nil {
		return d, err
	}
	d.Findings = rendering.Findings
	resolved, err := o.resolve(ctx, rendering.Objects)
	if err != nil {
		return d, err
	}
	found, err := comparer.Compare(ctx, DeliverRequest{
		Objects: rendering.Objects, Resolved: resolved, Target: l.Target, DryRun: true, Force: r.Force, Adopt: r.AdoptObjects,
		Commit: r.Commit.ID, Images: imageRefs(images), Completed: completedOf(resolved, s.completed, s.liveJobs),
	})
	if err != nil && len(found) == 0 {
		return d, err
	}
	for _, c := range found {
		shown, maskErr := masked(c)
		err = errors.Join(err, maskErr)
		if maskErr == nil && (c.Type == ChangeConflict || c.Type == ChangeCreated || !bytes.Equal(shown.Live, shown.Merged)) {
			shown.Provisional = isProvisional(shown.Object, rendering.Objects)
			d.Changes = append(d.Changes, shown)
		}
	}
	orphans, orphansErr := l.orphansOf(ctx, s, resolved)
	d.Orphans = orphans
	return d, errors.Join(err, orphansErr)
}

// orphansOf are the objects of earlier receipts, still there, that are not among
// the resolved ones.
func (l *Lifecycle) orphansOf(ctx context.Context, s *situation, resolved []receipt.Object) ([]receipt.Object, error) {
	if s.applied == nil {
		return nil, nil
	}
	earlier, err := l.earlierObjects(ctx, s.pointers.Applied)
	if err != nil {
		return nil, err
	}
	seen, err := l.Deliverer.Observe(ctx, ObserveRequest{Target: l.Target, Objects: resolved, Earlier: earlier})
	return seen.Orphans, err
}
