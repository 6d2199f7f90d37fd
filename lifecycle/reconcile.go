package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// ReconcileRequest is one commit to deliver.
type ReconcileRequest struct {
	Commit source.Commit
	// Wait is how long to wait for a lease that somebody else holds. The
	// default, zero, is to be refused at once.
	Wait time.Duration
	// Timeout is how long the target may take to become healthy. The default
	// is 5 minutes.
	Timeout time.Duration
	// DryRun decides, renders, and has the server try every object, and changes
	// nothing: neither registry nor target.
	DryRun bool
	// Force takes over fields that somebody else owns.
	Force bool
	// Events receives what happens; may be nil.
	Events Sink
	// Output returns the writer for what the tools that build an image print.
	// It is called once for each image that is built. Nil discards: a failed
	// build's error carries the end of its output in any case.
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
	// Findings are what the renderer found worth saying.
	Findings []Finding
	// Changes are what became of each object, in no certain order.
	Changes []Change
	// Orphans are objects of earlier receipts that this one does not name.
	// They are listed and never deleted.
	Orphans []receipt.Object
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
		r.Timeout = 5 * time.Minute
	}
	res := ReconcileResult{Operation: o.id}
	o.emit(Event{Type: EventStarted})
	err := TargetError(o.reconcile(ctx, r, &res))
	res.Took = l.Now().Sub(o.start)
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
	s, err := o.whenFree(ctx, &r)
	if err != nil {
		return err
	}
	images, err := o.plan(ctx, w, s, res)
	if err != nil || res.Plan.Decision == DecideUnchanged {
		return err
	}
	if r.DryRun {
		return o.dryRun(ctx, r, images, res)
	}
	if err := o.buildAll(ctx, r, images, res); err != nil {
		return err
	}
	if err := o.Cluster.Prepare(ctx); err != nil {
		return err
	}
	held, err := o.acquire(ctx, r)
	if err != nil {
		return err
	}
	err = o.underLease(ctx, held, func(ctx context.Context) error {
		d := delivery{operation: o, request: r, want: w, situation: s, images: images, held: held, result: res}
		return d.run(ctx)
	})
	if relErr := o.release(ctx, held); relErr != nil {
		// The lease ends by itself; what was delivered stays so.
		o.Log.Warn("the lease could not be released", "target", o.Target, "err", relErr)
		if err != nil {
			err = errors.Join(err, relErr)
		}
	}
	return err
}

// whenFree reads the target. While somebody else holds its lease it waits, as
// long as the request allows, and takes what it waited off the request.
func (o *operation) whenFree(ctx context.Context, r *ReconcileRequest) (*situation, error) {
	for {
		s, err := o.assess(ctx)
		if err != nil || !s.lease.Held {
			return s, err
		}
		if r.Wait <= 0 {
			return nil, o.blocked(s.lease, nil)
		}
		pause := min(time.Second, r.Wait)
		r.Wait -= pause
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// plan decides, and says what.
func (o *operation) plan(ctx context.Context, w *want, s *situation, res *ReconcileResult) ([]*image, error) {
	p, images, err := o.decide(ctx, w, s)
	if err != nil {
		return nil, err
	}
	res.Plan, res.Receipt = p, ""
	if p.Decision == DecideUnchanged {
		res.Receipt = s.pointers.Live
	}
	o.emit(Event{Type: EventPlanned, Plan: &p})
	return images, nil
}

// buildAll builds what has to be built. The overlay is rendered once before the
// builds, so that a mistake in it shows before they take their time.
func (o *operation) buildAll(ctx context.Context, r ReconcileRequest, images []*image, res *ReconcileResult) error {
	if res.Plan.Decision == DecideBuild {
		if _, err := o.render(ctx, r.Commit.Tree, images); err != nil {
			return err
		}
	}
	if err := o.buildImages(ctx, r, images); err != nil {
		return err
	}
	res.Plan.Images = imageStatuses(images)
	return nil
}

const notBuiltYet Digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

func (o *operation) render(ctx context.Context, tree source.Tree, images []*image) (Rendering, error) {
	refs := imageRefs(images)
	for i := range refs {
		if refs[i].Digest == "" {
			refs[i].Digest = notBuiltYet
		}
	}
	return o.Renderer.Render(ctx, RenderRequest{Tree: tree, Overlay: o.Overlay, Images: refs, Labels: o.labels()})
}

func (o *operation) acquire(ctx context.Context, r ReconcileRequest) (*lease.Held, error) {
	held, err := o.Lease.Acquire(ctx, lease.Request{
		Mode: lease.ModeDeliver, User: o.Actor, Purpose: "reconcile " + short(r.Commit.ID), Wait: r.Wait,
	})
	var other *lease.HeldError
	if errors.As(err, &other) {
		return nil, o.blocked(other.State, err)
	}
	if err != nil {
		return nil, err
	}
	state := held.State()
	o.emit(Event{Type: EventLeaseAcquired, Lease: &state})
	return held, nil
}

func (o *operation) blocked(s lease.State, err error) error {
	who := s.User
	if who == "" {
		who = s.Holder
	}
	if err == nil {
		err = &lease.HeldError{Target: o.Target, State: s, Now: s.Now}
	}
	next := "Wait for it with --wait, or look at it with: kubectl pharos lease show"
	if s.Mode != lease.ModeDeliver {
		next = "Ask " + who + " to release it: kubectl pharos lease release"
	}
	return &BlockedError{Reason: err.Error(), Holder: who, Mode: string(s.Mode), Until: s.Expires, Next: next, Err: err}
}

// underLease runs f while the lease is renewed, and ends f's context with
// lease.ErrLost as its cause if the lease is lost.
func (o *operation) underLease(ctx context.Context, held *lease.Held, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lost, stop := held.Keep(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := <-lost; err != nil {
			cancel(err)
		}
	}()
	err := f(ctx)
	stop()
	<-watched
	if err != nil && (errors.Is(err, lease.ErrLost) || errors.Is(context.Cause(ctx), lease.ErrLost)) {
		return &BlockedError{Reason: fmt.Sprintf("the lease of target %q was lost during the delivery", o.Target),
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
