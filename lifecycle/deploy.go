package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// DeployResult is what a deploy did. Beside an error it holds what was done until
// then.
type DeployResult struct {
	ReconcileResult
	// Steps are the steps of the preparation, with what became of their objects.
	Steps []StepResult
}

// StepResult is what became of a step of the preparation.
type StepResult struct {
	Name string `json:"name"`
	// Skipped says that an earlier call, which did not end, had done it already.
	Skipped bool     `json:"skipped,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// Written is how many objects were created or changed, or would be.
func (s StepResult) Written() (n int) {
	for _, c := range s.Changes {
		if c.Type != ChangeUnchanged {
			n++
		}
	}
	return n
}

// Deploy prepares the target and then brings it to the commit as Reconcile does,
// which wants a target that was prepared. It checks that what a delivery needs is
// there, all of it before anything is written; does the steps that the Setup's
// preparers name, under the lease, and records each in the target's checkpoint;
// and binds the target to the repository.
//
// It may be killed at any moment and run again: what the checkpoint has is not
// done twice. Run on a prepared target it mends what is missing of the
// preparation. Errors are those of Reconcile.
func (l *Lifecycle) Deploy(ctx context.Context, r ReconcileRequest) (DeployResult, error) {
	o := l.begin(string(r.Commit.ID), r.Events)
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	var steps []StepResult
	res, err := o.finish(func(res *ReconcileResult) error {
		if err := o.prepareTarget(ctx, &r, res, &steps); err != nil {
			return err
		}
		return o.reconcile(ctx, r, res)
	})
	return DeployResult{ReconcileResult: res, Steps: steps}, err
}

// Steps returns what a Deploy of the commit prepares. It writes nothing.
func (l *Lifecycle) Steps(ctx context.Context, r ReconcileRequest) ([]PrepareStep, error) {
	o := l.begin(string(r.Commit.ID), nil)
	steps, err := o.steps(ctx, r, &situation{})
	return steps, TargetError(err)
}

func (o *operation) steps(ctx context.Context, r ReconcileRequest, s *situation) ([]PrepareStep, error) {
	if o.Setup == nil {
		return nil, errors.New("lifecycle: Config.Setup is required to prepare a target")
	}
	w, err := o.want(ctx, r.Commit)
	if err != nil {
		return nil, err
	}
	images, err := o.findImages(ctx, w.states, s)
	if err != nil {
		return nil, err
	}
	if err := o.lookAtNodes(ctx); err != nil {
		return nil, err
	}
	rendering, err := o.render(ctx, r.Commit.Tree, images)
	if err != nil {
		return nil, err
	}
	resolved, err := o.resolve(ctx, rendering.Objects)
	if err != nil {
		return nil, err
	}
	request := PrepareRequest{Target: o.Target, Commit: r.Commit.ID, Objects: rendering.Objects, Resolved: resolved,
		Namespace: o.Setup.Namespace, Account: o.Setup.Account}
	var steps []PrepareStep
	for _, p := range o.Setup.Preparers {
		more, err := p.Prepare(ctx, request)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// prepareTarget does all of a Deploy that comes before the delivery.
func (o *operation) prepareTarget(ctx context.Context, r *ReconcileRequest, res *ReconcileResult, done *[]StepResult) error {
	if o.Setup == nil {
		return errors.New("lifecycle: Config.Setup is required to prepare a target")
	}
	r.preparing = true
	o.patience = o.Now().Add(r.Wait)
	s, err := o.whenFree(ctx, *r)
	if err != nil {
		return err
	}
	if err := o.mayDeliver(ctx, *r, s); err != nil {
		return err
	}
	w, err := o.want(ctx, r.Commit)
	if err != nil {
		return err
	}
	if err := o.check(ctx, len(w.states) > 0); err != nil {
		return err
	}
	steps, err := o.steps(ctx, *r, s)
	res.Findings = o.nodeFindings()
	if err != nil {
		return err
	}
	p := preparation{operation: o, request: *r, situation: s, steps: steps, done: done}
	if r.DryRun != DryRunClient {
		r.prepared = preparedBy(steps)
	}
	if r.DryRun != DryRunNone {
		return p.foresee(ctx)
	}
	if err := o.examineFirst(ctx, *r); err != nil {
		return err
	}
	err = o.underLease(ctx, *r, "deploy "+short(r.Commit.ID), func(ctx context.Context, held *lease.Held) error {
		p.held = held
		return p.run(ctx)
	})
	r.preparing = false
	return err
}

// check looks at all that a delivery needs, and returns all that cannot be used.
// Without images no registry is needed.
func (o *operation) check(ctx context.Context, images bool) error {
	errs := make([]error, len(o.Setup.Checks)+1)
	var g errgroup.Group
	for i, c := range o.Setup.Checks {
		g.Go(func() error {
			if err := c.Run(ctx); err != nil {
				errs[i] = fmt.Errorf("check %s: %w", c.Name, err)
			}
			return nil
		})
	}
	g.Go(func() error {
		if !images {
			return nil
		}
		// An image that no registry has: that it says so is the answer.
		err := o.Registry.Has(ctx, o.Push+"/pharos", notBuiltYet)
		if err != nil && !errors.Is(err, ErrImageNotFound) {
			errs[len(errs)-1] = fmt.Errorf("check the registry: %w", err)
		}
		return nil
	})
	_ = g.Wait() // the errors are all in the list
	return errors.Join(errs...)
}

// preparation is what a Deploy does under the lease.
type preparation struct {
	*operation
	request   ReconcileRequest
	situation *situation
	steps     []PrepareStep
	done      *[]StepResult
	held      *lease.Held
}

func (p *preparation) run(ctx context.Context) error {
	at, err := p.Setup.Checkpoints.Checkpoint(ctx)
	if err != nil && !(errors.Is(err, ErrCheckpoint) && p.request.Adopt) {
		return p.damaged(err)
	}
	if at.Target.ClusterUID != p.situation.clusterUID {
		at = Checkpoint{Version: at.Version} // it came with a copy of another cluster
	}
	at.APIVersion, at.Kind = CheckpointAPIVersion, CheckpointKind
	at.Target = receipt.Target{Name: p.Target, ClusterUID: p.situation.clusterUID}
	resuming := !at.Complete
	for _, step := range p.steps {
		if resuming && at.done(step) {
			*p.done = append(*p.done, StepResult{Name: step.Name, Skipped: true})
			continue
		}
		changes, err := p.write(ctx, step, WriteOptions{Force: p.request.Force, Guard: p.held.Check})
		*p.done = append(*p.done, StepResult{Name: step.Name, Changes: changes})
		if err != nil {
			return err
		}
		if !at.done(step) {
			next := at.with(CheckpointStep{Name: step.Name, Hash: step.Hash(), By: p.Setup.Version, Time: p.Now().UTC()})
			if at, err = p.record(ctx, at, next); err != nil {
				return err
			}
		}
		p.emit(Event{Type: EventStepPrepared, Step: step.Name, Written: (*p.done)[len(*p.done)-1].Written()})
	}
	return p.complete(ctx, at)
}

// complete binds the target to the repository and lets it be delivered to.
func (p *preparation) complete(ctx context.Context, at Checkpoint) error {
	first, _, err := firstCommit(ctx, p.request.Repository, p.request.Commit, "")
	if err != nil {
		return err
	}
	next := at
	next.Complete = true
	next.Steps = slices.DeleteFunc(slices.Clone(at.Steps), func(k CheckpointStep) bool {
		return !slices.ContainsFunc(p.steps, func(s PrepareStep) bool { return s.Name == k.Name })
	})
	if at.Repository == "" || p.situation.adopted {
		next.Repository = first
	}
	if !at.Complete || next.Repository != at.Repository || len(next.Steps) != len(at.Steps) {
		if _, err := p.record(ctx, at, next); err != nil {
			return err
		}
	}
	p.emit(Event{Type: EventPrepared})
	return nil
}

func (p *preparation) record(ctx context.Context, old, new Checkpoint) (Checkpoint, error) {
	if err := p.held.Check(ctx); err != nil {
		return old, err
	}
	at, err := p.Setup.Checkpoints.SetCheckpoint(ctx, old, new)
	if errors.Is(err, receipt.ErrConflict) {
		return old, &BlockedError{Reason: fmt.Sprintf("record what was prepared of target %q: %v", p.Target, err),
			Next: "Run the same command again.", Err: err}
	}
	if err != nil {
		return old, fmt.Errorf("record what was prepared of target %q: %w", p.Target, err)
	}
	return at, nil
}

// damaged refuses a checkpoint that cannot be read.
func (o *operation) damaged(err error) error {
	if !errors.Is(err, ErrCheckpoint) {
		return err
	}
	return &BlockedError{Reason: fmt.Sprintf("it is not known how far target %q is prepared: %v", o.Target, err),
		Next: "To prepare it as if nothing were known: kubectl pharos deploy --adopt", Err: err}
}

// foresee says what each step would do.
func (p *preparation) foresee(ctx context.Context) error {
	for _, step := range p.steps {
		changes, err := p.write(ctx, step, WriteOptions{Force: p.request.Force, DryRun: true})
		*p.done = append(*p.done, StepResult{Name: step.Name, Changes: changes})
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes the objects of a step one after the other.
func (p *preparation) write(ctx context.Context, step PrepareStep, w WriteOptions) (changes []Change, err error) {
	objects := slices.Concat(step.Create, step.Apply)
	resolved, err := p.Deliverer.Resolve(ctx, objects)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", step.Name, err)
	}
	for i, o := range objects {
		w.Create = i < len(step.Create)
		did, err := p.Setup.Writer.Write(ctx, o, resolved[i], w)
		if err != nil {
			return changes, fmt.Errorf("prepare %s: %w", step.Name, err)
		}
		changes = append(changes, Change{Type: did, Object: resolved[i]})
	}
	return changes, nil
}
