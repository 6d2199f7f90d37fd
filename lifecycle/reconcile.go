package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// ReconcileRequest is one commit to deliver.
type ReconcileRequest struct {
	Commit source.Commit
	// Repository is what the commit is of. The first delivery binds the target
	// to it, by the first commit of its history; another one is refused. Nil
	// binds the target to none, and is refused where one is bound.
	Repository Repository
	// Adopt delivers to a target that belongs to another repository, or whose
	// records cannot be read: then as if nothing were known of it. The target
	// belongs to Repository afterwards.
	Adopt bool
	// Maintenance is the holder's ID of a maintenance of the target under which
	// the delivery is made; see StartMaintenance. Of several deliveries under one
	// maintenance the last one to begin goes on, and the others have lost the
	// lease. The default, empty, is to acquire the lease.
	Maintenance string
	// Wait is how long to wait for a lease that somebody else holds. The
	// default, zero, is to be refused at once.
	Wait time.Duration
	// Timeout is how long the target may take to become healthy. The default
	// is 5 minutes.
	Timeout time.Duration
	// DryRun changes nothing, neither registry nor target, and says what would
	// be done. Where that would be refused, because somebody else holds the
	// lease for example, the error says so beside the plan. The default is
	// DryRunNone.
	DryRun DryRun
	// Force takes over fields that somebody else owns.
	Force bool
	// AdoptObjects takes over objects that are on the target already and were not
	// delivered to it. By default they are conflicts.
	AdoptObjects bool
	// Events receives what happens; may be nil.
	Events Sink
	// preparing says that the target is about to be prepared.
	preparing bool
	// prepared are what the preparation makes, of a dry run that asks the server.
	prepared []Object
	// CancelBuilds ends the other builds when one fails. The default lets them
	// finish, so that the next call has less to do. In both cases no further one
	// begins, nothing is delivered, and all failures are reported together.
	CancelBuilds bool
	// Output returns the writer for what the tools that build an image print.
	// It is called once for each image that is built, after the event that says
	// that its build begins. If the writer is an io.Closer, it is closed when the
	// build has ended, whatever came of it. Nil discards: a failed build's error
	// carries the end of its output in any case.
	Output func(image string) io.Writer
}

// ReconcileResult is what a reconcile did. Beside an error it holds what was
// done until then.
type ReconcileResult struct {
	Operation string
	Plan      Plan
	// Receipt is the receipt that the target has, the live one if nothing had
	// to be done; empty if the delivery ended before one was written.
	Receipt receipt.ID
	// Findings are what is worth saying: of the rendered overlay, and that the
	// nodes' platforms were not checked.
	Findings []Finding
	// Noticed is what showed later: old receipts that could not be dropped, and
	// configuration that has changed while what has it in its environment has not.
	Noticed []Finding
	// Changes are what became of each object, in no certain order.
	Changes []Change
	// Untried are, of a dry run, what the target could not be asked about.
	Untried []Finding
	// Orphans are objects of earlier receipts that this one does not name.
	// They are listed and never deleted.
	Orphans []receipt.Object
	// Dropped are the receipts that are kept no longer, see Config.Keep.
	Dropped []receipt.ID
	// Took is how long it all took.
	Took time.Duration
}

// Reconcile brings the target to a commit: it decides, builds what changed,
// records a receipt, delivers it and waits until the target is healthy at
// exactly that receipt. If there is nothing to do it writes nothing, and the
// plan's reasons are the proof.
//
// It may be killed at any moment: what it leaves is the old state, the new
// one, or a record from which the next call ends right. When the target's lease
// is held by somebody else, or the receipts belong to another cluster, the
// error is a *BlockedError. A target that did not become healthy is an
// *UnhealthyError: the applied and the live receipt then differ. What a commit
// has to mend matches ErrSource; a cluster or registry that does not answer or
// forbids matches ErrUnreachable; fields that somebody else owns are a
// *ConflictError.
func (l *Lifecycle) Reconcile(ctx context.Context, r ReconcileRequest) (ReconcileResult, error) {
	o := l.begin(string(r.Commit.ID), r.Events)
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	return o.finish(func(res *ReconcileResult) error { return o.reconcile(ctx, r, res) })
}

// defaultTimeout is how long a target may take to become healthy.
const defaultTimeout = 5 * time.Minute

// finish does what an operation is for, between its first event and its last.
func (o *operation) finish(do func(*ReconcileResult) error) (ReconcileResult, error) {
	res := ReconcileResult{Operation: o.id}
	o.emit(Event{Type: EventStarted})
	err := TargetError(do(&res))
	res.Took = o.Now().Sub(o.start)
	end := Event{Type: EventFinished, Receipt: res.Receipt, Took: res.Took}
	if err != nil {
		end.Error = err.Error()
	}
	o.emit(end)
	return res, err
}

func (o *operation) reconcile(ctx context.Context, r ReconcileRequest, res *ReconcileResult) error {
	w, err := o.want(ctx, r.Commit)
	if err != nil {
		return err
	}
	o.patience = o.Now().Add(r.Wait)
	s, err := o.whenFree(ctx, r)
	if err != nil {
		return err
	}
	refusal := o.mayDeliver(ctx, r, s)
	if refusal != nil && r.DryRun == DryRunNone {
		return refusal
	}
	if refusal = errors.Join(refusal, o.refusedFor(r, s)); refusal != nil {
		res.Plan.Blocked, _, _ = strings.Cut(refusal.Error(), "\n")
	}
	images, err := o.plan(ctx, w, s, res)
	if err != nil {
		return err
	}
	if r.DryRun != DryRunNone {
		return errors.Join(o.dryRun(ctx, r, s, images, res), refusal)
	}
	if res.Plan.Decision == DecideUnchanged {
		return nil
	}
	if err := o.buildAll(ctx, r, images, res); err != nil {
		return err
	}
	return o.underLease(ctx, r, "reconcile "+short(r.Commit.ID), func(ctx context.Context, held *lease.Held) error {
		d := delivery{operation: o, request: r, want: w, situation: s, images: images, held: held, result: res}
		return d.run(ctx)
	})
}

// refusedFor is the error that a request which writes would get for the lease
// now; nil if none.
func (o *operation) refusedFor(r ReconcileRequest, s *situation) error {
	if r.mayWrite(s.lease) {
		return nil
	}
	return o.blocked(s.lease, nil)
}

// plan decides, and says what.
func (o *operation) plan(ctx context.Context, w *want, s *situation, res *ReconcileResult) ([]*image, error) {
	p, images, err := o.decideWithNodes(ctx, w, s)
	if err != nil {
		return nil, err
	}
	p.Blocked = res.Plan.Blocked
	res.Plan, res.Receipt = p, ""
	if p.Decision == DecideUnchanged {
		res.Receipt, res.Findings = s.pointers.Live, o.nodeFindings()
	}
	o.emit(Event{Type: EventPlanned, Plan: &p})
	if p.Decision == DecideUnchanged {
		return images, o.checkCoverage(ctx, w.commit.Tree, images)
	}
	return images, nil
}

// buildAll builds what has to be built. The overlay is rendered before the
// builds, so that a mistake in it shows before they take their time, and before
// anything is written anywhere; so do an image that nothing builds, one that its
// builder knows it cannot build, and one that is not for the target's nodes.
func (o *operation) buildAll(ctx context.Context, r ReconcileRequest, images []*image, res *ReconcileResult) error {
	if err := o.tryOut(ctx, r, images, res); err != nil {
		return err
	}
	if err := o.buildImages(ctx, r, images); err != nil {
		return err
	}
	res.Plan.Images = imageStatuses(images)
	return nil
}

// tryOut renders the overlay and returns all that shows now of what would keep
// the images from being built and delivered.
func (o *operation) tryOut(ctx context.Context, r ReconcileRequest, images []*image, res *ReconcileResult) error {
	rendering, err := o.render(ctx, r.Commit.Tree, images)
	res.Findings = rendering.Findings
	if err == nil {
		err = o.checkCoverage(ctx, r.Commit.Tree, images)
	}
	return errors.Join(o.lackBuilders(images), o.checkBuilds(ctx, r, images), err)
}

// underLease runs f under the target's lease, or under the maintenance of the
// request, which stays.
func (o *operation) underLease(ctx context.Context, r ReconcileRequest, purpose string, f func(context.Context, *lease.Held) error) error {
	if err := o.Cluster.Prepare(ctx); err != nil {
		return err
	}
	held, err := o.acquire(ctx, r, purpose)
	if err != nil {
		return err
	}
	err = o.keeping(ctx, held, f)
	if r.Maintenance != "" {
		return err
	}
	if relErr := o.release(ctx, held); relErr != nil {
		// The lease ends by itself; what was delivered stays so.
		o.Log.Warn("the lease could not be released", "target", o.Target, "err", relErr)
		if err != nil {
			err = errors.Join(err, relErr)
		}
	}
	return err
}

// keeping runs f while the lease is renewed, and ends f's context with
// lease.ErrLost as its cause if the lease is lost.
func (o *operation) keeping(ctx context.Context, held *lease.Held, f func(context.Context, *lease.Held) error) error {
	err := whileHeld(ctx, held, func(ctx context.Context) error { return f(ctx, held) })
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		return &BlockedError{Reason: fmt.Sprintf("what was begun on target %q was not finished: %v", o.Target, lost),
			Next: "Look at who has it with: kubectl pharos lease show", Err: err}
	}
	return err
}

// afterwards bounds what has to be recorded or released although the caller's
// context may have ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

func (o *operation) release(ctx context.Context, held *lease.Held) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	if err := held.Release(ctx); err != nil {
		if errors.Is(err, lease.ErrLost) {
			return nil
		}
		return fmt.Errorf("release the lease of target %q, which ends by itself: %w", o.Target, err)
	}
	o.emit(Event{Type: EventLeaseReleased})
	return nil
}
