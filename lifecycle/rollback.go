package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// RollbackRequest is an earlier receipt to deliver once more.
type RollbackRequest struct {
	// Receipt is the receipt, which has to have been live. Empty is the one that
	// was live before: see [Lifecycle.ChooseRollback].
	Receipt receipt.ID
	// Repository is where the receipt's commit is read from. Required.
	Repository Repository
	// Maintenance is the holder's ID of the maintenance under which the delivery
	// is made, as in ReconcileRequest.
	Maintenance string
	// Wait, Timeout, DryRun, Force, AdoptObjects and Events are as in
	// ReconcileRequest.
	Wait         time.Duration
	Timeout      time.Duration
	DryRun       DryRun
	Force        bool
	AdoptObjects bool
	Events       Sink
}

// Rollback delivers what an earlier receipt asked for, as a new receipt that
// says so in its RollbackOf. Nothing is built: every image has to be in the
// registry still, which is asked before anything is written. The manifests are
// rendered from the receipt's commit, and have to come to the very objects that
// the receipt names.
//
// If the target already is what the receipt asks for, nothing is written, and
// the plan's reasons are the proof. Where there is nothing to roll back to, or
// the content cannot be had again, the error matches ErrNoRollback. Otherwise
// errors are those of Reconcile, and so is what a process leaves that is killed:
// the same call goes on with the rollback.
//
// A Reconcile of the commit that was rolled back from delivers it again.
func (l *Lifecycle) Rollback(ctx context.Context, r RollbackRequest) (ReconcileResult, error) {
	o := l.begin("", r.Events)
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	return o.finish(func(res *ReconcileResult) error { return o.rollback(ctx, r, res) })
}

// asReconcile is the request as the delivery knows it.
func (r RollbackRequest) asReconcile() ReconcileRequest {
	return ReconcileRequest{Repository: r.Repository, Maintenance: r.Maintenance, Wait: r.Wait, Timeout: r.Timeout, DryRun: r.DryRun,
		Force: r.Force, AdoptObjects: r.AdoptObjects, Events: r.Events}
}

func (o *operation) rollback(ctx context.Context, r RollbackRequest, res *ReconcileResult) error {
	if r.Repository == nil {
		return errors.New("lifecycle: RollbackRequest.Repository is required")
	}
	o.patience = o.Now().Add(r.Wait)
	s, err := o.whenFree(ctx, r.asReconcile())
	if err != nil {
		return err
	}
	d := delivery{operation: o, request: r.asReconcile(), situation: s, pointers: s.pointers, result: res}
	unchanged, err := d.goBack(ctx, r.Receipt)
	if err != nil || unchanged {
		return err
	}
	if r.DryRun != DryRunNone {
		return errors.Join(o.tryObjects(ctx, d.request, s, d.images, res), o.refusedFor(d.request, s))
	}
	purpose := "roll back to receipt " + d.earlier.id.Short()
	return o.underLease(ctx, d.request, purpose, func(ctx context.Context, held *lease.Held) error {
		d.held = held
		unchanged, err := d.goBackAgain(ctx)
		if err != nil || unchanged {
			return err
		}
		return d.deliver(ctx)
	})
}

// goBack finds out all that is needed of the receipt, and whether the target is
// what it asks for.
func (d *delivery) goBack(ctx context.Context, id receipt.ID) (unchanged bool, err error) {
	if d.earlier, err = d.chooseEarlier(ctx, id, d.situation); err != nil {
		return false, err
	}
	if err := d.situation.foreign(&d.earlier.record); err != nil {
		return false, &BlockedError{Reason: fmt.Sprintf("receipt %s cannot be delivered here: %v", d.earlier.id.Short(), err),
			Next: "Check the context: kubectl pharos status", Err: err}
	}
	d.operation.commit = d.earlier.record.Commit
	if err := d.wantEarlier(ctx); err != nil {
		return false, err
	}
	if err := d.mayDeliver(ctx, d.request, d.situation); err != nil {
		return false, err
	}
	if err := d.verifyEarlier(ctx); err != nil {
		return false, err
	}
	rendering, err := d.render(ctx, d.want.commit.Tree, d.images)
	if err != nil {
		return false, d.noRollback(err)
	}
	d.result.Findings = rendering.Findings
	if d.resolved, err = d.resolve(ctx, rendering.Objects); err != nil {
		return false, err
	}
	d.record = d.newRecord(rendering, d.resolved)
	if err := d.sameAsEarlier(); err != nil {
		return false, err
	}
	return d.planBack(ctx)
}

// goBackAgain notices what happened before the lease was held.
func (d *delivery) goBackAgain(ctx context.Context) (unchanged bool, err error) {
	now, err := d.Receipts.Pointers(ctx)
	if err != nil && !errors.Is(err, receipt.ErrCorrupt) {
		return false, err
	}
	if err == nil && now.Version == d.situation.pointers.Version {
		return false, nil
	}
	if d.situation, err = d.assess(ctx); err != nil {
		return false, err
	}
	d.pointers = d.situation.pointers
	chosen := d.earlier.id
	return d.goBack(ctx, chosen)
}

// planBack says what a rollback does, and whether it has to do anything.
func (d *delivery) planBack(ctx context.Context) (unchanged bool, err error) {
	s, e := d.situation, d.earlier
	p := Plan{Decision: DecideDeliver, Applied: s.pointers.Applied, Live: s.pointers.Live, RollbackOf: e.id, Images: imageStatuses(d.images)}
	p.Reasons = []string{fmt.Sprintf("roll back to receipt %s of commit %s, which was live at %s", e.id.Short(), short(d.want.commit.ID), e.live.UTC().Format(time.RFC3339))}
	if s.applied != nil {
		p.Reasons = append(p.Reasons, fmt.Sprintf("the applied receipt %s is of commit %s", s.pointers.Applied.Short(), short(commitOf(s.applied))))
	}
	p.Reasons = append(p.Reasons,
		fmt.Sprintf("every image (%d) of it is in the registry, with all its parts", len(d.images)),
		fmt.Sprintf("its commit still renders to every object (%d) of it, and to no other", len(e.record.Objects)))
	if s.pointers.Applied == s.pointers.Live && len(s.unreadable()) == 0 && s.delivers(e.id) {
		wrong, err := d.looksOtherwise(ctx, s)
		if err != nil {
			return false, err
		}
		p.Reasons = append(p.Reasons[:1], wrong...)
		if len(wrong) == 0 {
			p.Decision = DecideUnchanged
			p.Reasons = []string{provenUnchanged, fmt.Sprintf("the live receipt %s has the content of receipt %s", s.pointers.Live.Short(), e.id.Short()),
				fmt.Sprintf("every object (%d) is there, healthy, and as the live receipt left it", len(s.live.Objects))}
			d.result.Receipt = s.pointers.Live
		}
	}
	d.result.Plan = p
	d.emit(Event{Type: EventPlanned, Plan: &p})
	return p.Decision == DecideUnchanged, nil
}

// delivers says whether the applied receipt is that one, or a rollback to it.
func (s *situation) delivers(id receipt.ID) bool {
	return s.applied != nil && (s.pointers.Applied == id || s.applied.RollbackOf == id)
}

// verifyEarlier asks the registry for every part of the images, and reports all
// that are gone.
func (d *delivery) verifyEarlier(ctx context.Context) error {
	errs := make([]error, len(d.images))
	var g errgroup.Group
	g.SetLimit(verifyJobs)
	for i, img := range d.images {
		g.Go(func() error {
			_, err := d.Registry.Verify(ctx, img.push(d.Lifecycle), img.status.Digest)
			if errors.Is(err, ErrImageNotFound) {
				err = d.noRollback(&Error{Op: "find", On: "image " + img.status.Name, Class: ErrUnreachable, Err: err,
					Advice: "Deliver the commit instead, which builds it: kubectl pharos reconcile " + short(d.want.commit.ID)})
			}
			errs[i] = err
			return nil
		})
	}
	_ = g.Wait() // the errors are all in the list
	return errors.Join(errs...)
}
