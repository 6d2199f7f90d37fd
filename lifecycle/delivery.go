package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// delivery is what happens to a target while its lease is held.
type delivery struct {
	*operation
	request   ReconcileRequest
	want      *want
	situation *situation
	images    []*image
	held      *lease.Held
	result    *ReconcileResult
	// earlier is the receipt that a rollback delivers once more; nil for none.
	earlier *earlier

	record   receipt.Record
	resolved []receipt.Object // in the order of the rendering
	id       receipt.ID
	pointers receipt.Pointers
	// completed are Jobs of the record that the receipt's outcomes name.
	completed []receipt.Object
}

func (d *delivery) run(ctx context.Context) error {
	unchanged, err := d.decideAgain(ctx)
	if err != nil || unchanged {
		return err
	}
	return d.deliver(ctx)
}

// deliver goes all the way from the images to the live pointer.
func (d *delivery) deliver(ctx context.Context) error {
	objects, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	if err := d.examine(ctx, d.deliverRequest(objects)); err != nil {
		return err
	}
	if err := d.announce(ctx); err != nil {
		return err
	}
	seen, err := d.apply(ctx, objects)
	if err != nil {
		return d.failed(ctx, seen, err)
	}
	if err := d.prove(ctx, seen); err != nil {
		return err
	}
	if before := d.situation.applied; before != nil {
		d.result.Noticed = append(d.result.Noticed, unread(objects, d.resolved, before.Objects)...)
	}
	d.retain(ctx)
	return nil
}

// decideAgain notices what happened between reading the target and holding its
// lease. Under the lease nobody else moves the pointers.
func (d *delivery) decideAgain(ctx context.Context) (unchanged bool, err error) {
	now, err := d.Receipts.Pointers(ctx)
	if err != nil && (now.Version == "" || !errors.Is(err, receipt.ErrCorrupt)) {
		return false, err
	}
	d.pointers = now
	if now.Version == d.situation.pointers.Version {
		return false, nil
	}
	if d.situation, err = d.assess(ctx); err != nil {
		return false, err
	}
	if err := d.mayDeliver(ctx, d.request, d.situation); err != nil {
		return false, err
	}
	if d.images, err = d.plan(ctx, d.want, d.situation, d.result); err != nil {
		return false, err
	}
	d.pointers = d.situation.pointers
	if d.result.Plan.Decision == DecideUnchanged {
		return true, nil
	}
	return false, d.buildAll(ctx, d.request, d.images, d.result)
}

// prepare renders the commit with the images' digests and makes the record.
func (d *delivery) prepare(ctx context.Context) ([]Object, error) {
	rendering, err := d.render(ctx, d.request.Commit.Tree, d.images)
	if err != nil {
		return nil, err
	}
	d.result.Findings = rendering.Findings
	resolved, err := d.resolve(ctx, rendering.Objects)
	if err != nil {
		return nil, err
	}
	if err := d.confirmImages(ctx, d.images); err != nil {
		return nil, err
	}
	for i, o := range resolved {
		rendering.Objects[i].Namespace = o.Namespace
	}
	d.resolved, d.record = resolved, d.newRecord(rendering, resolved)
	if err := d.sameAsEarlier(); err != nil {
		return nil, err
	}
	return rendering.Objects, nil
}

func (d *delivery) newRecord(rendering Rendering, resolved []receipt.Object) receipt.Record {
	w := d.want
	rec := receipt.Record{
		APIVersion: receipt.APIVersion, Kind: receipt.Kind,
		Target:    receipt.Target{Name: d.Target, ClusterUID: d.situation.clusterUID},
		Parent:    d.pointers.Applied,
		Commit:    string(w.commit.ID),
		Tree:      string(w.commit.Tree.ID),
		Catalogue: w.catalogue.Digest,
		Renderer:  d.Renderer.ID(),
		Reads:     rendering.Reads,
		Objects:   slices.SortedFunc(slices.Values(resolved), receipt.CompareObjects),
	}
	for _, img := range d.images {
		entry := receipt.Image{
			Name: img.status.Name, Fingerprint: string(img.status.Fingerprint), Repository: img.status.Repository,
			Digest: string(img.status.Digest), Platforms: img.platforms, Bases: img.allBases(), Toolchain: img.toolchain,
		}
		for _, f := range img.state.Preimage {
			entry.Preimage = append(entry.Preimage, receipt.Field(f))
		}
		rec.Images = append(rec.Images, entry)
	}
	d.earlier.fill(&rec, d.pointers.Applied)
	if again, ok := d.sameAsApplied(rec); ok {
		return again
	}
	return rec
}

// sameAsApplied returns the applied record if rec asks for the very same:
// delivering it again is the same receipt, not a child of itself. One whose
// outcomes cannot be read would never be proven live: it gets a child.
func (d *delivery) sameAsApplied(rec receipt.Record) (receipt.Record, bool) {
	if d.situation.applied == nil || d.situation.damage.outcomes != nil {
		return rec, false
	}
	rec.Parent = d.situation.applied.Parent
	if rec.RollbackOf == "" {
		rec.RollbackOf = d.situation.applied.RollbackOf // its content is what counts
	}
	id, err := rec.ID()
	return rec, err == nil && id == d.pointers.Applied
}

// announce records what is about to be delivered before anything changes.
func (d *delivery) announce(ctx context.Context) (err error) {
	if err := d.held.Check(ctx); err != nil {
		return err
	}
	if d.id, err = d.Receipts.Put(ctx, d.record); err != nil {
		return fmt.Errorf("record the receipt: %w", err)
	}
	d.result.Receipt = d.id
	d.emit(Event{Type: EventReceiptWritten, Receipt: d.id})

	if err := d.publish(ctx); err != nil {
		return err
	}
	if err := d.addOutcome(ctx, d.id, receipt.Outcome{Type: receipt.OutcomeAttempt}); err != nil {
		return err
	}
	d.emit(Event{Type: EventAttemptRecorded, Receipt: d.id, Outcome: receipt.OutcomeAttempt})
	if err := d.carryCompleted(ctx); err != nil {
		return err
	}

	if err := d.settle(ctx); err != nil {
		return err
	}
	before := d.pointers.Applied
	if before == d.id && d.situation.damage.pointers == nil {
		return nil
	}
	repository, err := d.repository(ctx)
	if err != nil {
		return err
	}
	if err := d.movePointers(ctx, receipt.Pointers{Applied: d.id, Live: d.pointers.Live, Repository: repository}); err != nil {
		return err
	}
	d.emit(Event{Type: EventAppliedMoved, Receipt: d.id})
	if before == d.id {
		return nil // what else they say was damaged
	}
	return d.supersede(ctx, before)
}

// publish brings the commit to where the target fetches it from, before anything
// there names it.
func (d *delivery) publish(ctx context.Context) error {
	if d.Transport == nil {
		return nil
	}
	if err := d.Transport.Publish(ctx, PublishRequest{Commit: d.want.commit, Receipt: d.id}); err != nil {
		return err
	}
	d.emit(Event{Type: EventCommitPublished, Receipt: d.id})
	return nil
}

// supersede records that another receipt was applied in the place of id.
func (d *delivery) supersede(ctx context.Context, id receipt.ID) error {
	if id == "" {
		return nil
	}
	err := d.addOutcome(ctx, id, receipt.Outcome{Type: receipt.OutcomeSuperseded})
	if unusable(err) {
		d.Log.Warn("a receipt that was superseded cannot be read, so its outcomes do not say so", "receipt", id.Short(), "err", err)
		return nil
	}
	return err
}

// settle records what a delivery left out that was killed right after it moved
// the applied pointer: that the receipt before was superseded.
func (d *delivery) settle(ctx context.Context) error {
	s := d.situation
	if s.applied == nil || s.applied.Parent == "" || s.last == nil || s.last.Type != receipt.OutcomeAttempt {
		return nil
	}
	outcomes, err := d.Receipts.Outcomes(ctx, s.applied.Parent)
	if err != nil && !unusable(err) {
		return fmt.Errorf("read the outcomes of receipt %s: %w", s.applied.Parent, err)
	}
	if n := len(outcomes); n == 0 || outcomes[n-1].Type == receipt.OutcomeSuperseded {
		return nil
	}
	return d.supersede(ctx, s.applied.Parent)
}

func (d *delivery) movePointers(ctx context.Context, to receipt.Pointers) error {
	if err := d.held.Check(ctx); err != nil {
		return err
	}
	moved, err := d.Receipts.SetPointers(ctx, d.pointers, to)
	if errors.Is(err, receipt.ErrConflict) {
		return &BlockedError{Reason: fmt.Sprintf("move the pointers of target %q: %v", d.Target, err),
			Next: "See what the target was told, and run the same command again: kubectl pharos status", Err: err}
	}
	if err != nil {
		return fmt.Errorf("move the pointers of target %q: %w", d.Target, err)
	}
	d.pointers = moved
	return nil
}

func (d *delivery) addOutcome(ctx context.Context, id receipt.ID, out receipt.Outcome) error {
	if err := d.held.Check(ctx); err != nil {
		return err
	}
	out.Time, out.Operation, out.Actor = d.Now().UTC(), d.operation.id, d.Actor
	if err := d.Receipts.AddOutcome(ctx, id, out); err != nil {
		return fmt.Errorf("record the outcome %q of receipt %s: %w", out.Type, id.Short(), err)
	}
	return nil
}

// deliverRequest is the delivery of the objects, once it is announced: before
// that it has no receipt.
func (d *delivery) deliverRequest(objects []Object) DeliverRequest {
	return DeliverRequest{
		Objects: objects, Resolved: d.resolved, Target: d.Target, Guard: d.held.Check, Force: d.request.Force, Adopt: d.request.AdoptObjects,
		Commit: d.want.commit.ID, Images: imageRefs(d.images), Receipt: d.id, Token: d.held.Token(),
		Completed: d.completed, Applied: d.situation.provenObjects(), Seen: d.situation.seen,
		Progress: func(c Change) { d.emit(Event{Type: EventObjectApplied, Receipt: d.id, Change: &c}) },
	}
}

// apply brings the objects to the target and waits until they are healthy.
func (d *delivery) apply(ctx context.Context, objects []Object) (Observation, error) {
	done, err := d.Deliverer.Deliver(ctx, d.deliverRequest(objects))
	d.result.Changes = done.Changes
	if err != nil {
		return Observation{}, err
	}
	d.emit(Event{Type: EventDelivered, Receipt: d.id})

	earlier, err := d.earlierObjects(ctx, d.record.Parent)
	if err != nil {
		return Observation{}, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, d.request.Timeout, fmt.Errorf("the target did not become healthy within %s", d.request.Timeout))
	defer cancel()
	seen, err := d.Deliverer.Wait(wait, ObserveRequest{
		Target: d.Target, Objects: d.record.Objects, Earlier: earlier, Seen: done.Seen,
		Commit: d.want.commit.ID, Images: imageRefs(d.images), Applications: done.Applications, Completed: done.Completed, Guard: d.held.Check,
		Progress: func(o Observation) {
			if !o.Healthy() {
				d.emit(Event{Type: EventWaiting, Receipt: d.id, Unready: o.Unready})
			}
		},
	})
	d.result.Orphans = seen.Orphans
	if err != nil {
		return seen, err
	}
	if len(seen.Drifted) > 0 {
		// Healthy, but not at this receipt: what stands there now must not
		// become what later looks are compared with.
		return seen, &UnhealthyError{Unready: seen.Drifted, Err: errors.New("somebody else changed it during the delivery")}
	}
	d.emit(Event{Type: EventHealthy, Receipt: d.id})
	return seen, nil
}

// failed records why a delivery ended, and returns err. The applied pointer
// stays: it says what is on the target.
func (d *delivery) failed(ctx context.Context, seen Observation, err error) error {
	cause := err
	if ctx.Err() != nil {
		cause = errors.Join(context.Cause(ctx), err)
	}
	if errors.Is(cause, lease.ErrLost) {
		return err // whoever has the lease now speaks for the target
	}
	ctx, cancel := afterwards(ctx)
	defer cancel()
	if recErr := d.noteCompleted(ctx, seen.Completed); recErr != nil {
		return errors.Join(err, recErr)
	}
	reason := strings.TrimSpace(err.Error())
	if recErr := d.addOutcome(ctx, d.id, receipt.Outcome{Type: receipt.OutcomeFailed, Reason: reason, Applications: seen.Applications}); recErr != nil {
		return errors.Join(err, recErr)
	}
	d.emit(Event{Type: EventOutcomeRecorded, Receipt: d.id, Outcome: receipt.OutcomeFailed, Error: err.Error()})
	return err
}

// prove records that the target is healthy at exactly this receipt: the outcome
// first, so that the pointer never names a receipt without its evidence.
func (d *delivery) prove(ctx context.Context, seen Observation) error {
	if err := d.noteCompleted(ctx, seen.Completed); err != nil {
		return err
	}
	if err := d.addOutcome(ctx, d.id, receipt.Outcome{Type: receipt.OutcomeLive, Objects: seen.Seen, Applications: seen.Applications}); err != nil {
		return err
	}
	d.emit(Event{Type: EventOutcomeRecorded, Receipt: d.id, Outcome: receipt.OutcomeLive})
	if d.pointers.Live == d.id {
		return nil
	}
	if err := d.movePointers(ctx, receipt.Pointers{Applied: d.id, Live: d.id, Repository: d.pointers.Repository}); err != nil {
		return err
	}
	d.emit(Event{Type: EventLiveMoved, Receipt: d.id})
	return nil
}
