package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Deliver applies the objects, as the package comment describes. It writes each
// object with one request and never deletes.
//
// Beside an error stands what was done until then. The error is that of the
// guard as it is, or holds (errors.Is, errors.As) a *lifecycle.ConflictError
// with all conflicts, and a *lifecycle.Error for each object that was refused:
// of class lifecycle.ErrSource where another manifest would be accepted,
// lifecycle.ErrUnreachable where the server could not be reached or does not
// let us.
func (d *Deliverer) Deliver(ctx context.Context, r lifecycle.DeliverRequest) (lifecycle.DeliverResult, error) {
	v, err := d.delivery(ctx, r)
	if err != nil || v == nil {
		return lifecycle.DeliverResult{}, err
	}
	v.all(ctx)
	return v.result(ctx)
}

// delivery prepares one call; nil if it has nothing to do.
func (d *Deliverer) delivery(ctx context.Context, r lifecycle.DeliverRequest) (*delivery, error) {
	objects, problems := applicable(r.Objects)
	r.Objects = objects
	if err := check(r, problems); err != nil || len(r.Objects) == 0 {
		return nil, err
	}
	v := &delivery{
		Deliverer: d, r: r, proof: proofOf(r), whole: r.DryRun || len(r.Seen) > 0,
		changes: make([]lifecycle.ChangeType, len(objects)), seen: make([]receipt.Seen, len(objects)),
	}
	v.kinds, _ = declared(objects)
	var err error
	v.before, err = d.remember(ctx, r, v.whole)
	return v, err
}

// all goes through the stages.
func (v *delivery) all(ctx context.Context) {
	for stage := range stages {
		v.run(ctx, stage)
		if stage == stageDefinitions && !v.r.DryRun && v.sound() {
			v.settle(ctx)
		}
	}
}

// check refuses what a delivery could not find again, or would put elsewhere
// than was said.
func check(r lifecycle.DeliverRequest, problems []error) error {
	if r.Target == "" {
		return errors.New("apply: DeliverRequest.Target is missing")
	}
	if r.Guard == nil && !r.DryRun {
		return errors.New("apply: DeliverRequest.Guard is missing; only a dry run needs no leave to write")
	}
	if len(r.Objects) != len(r.Resolved) {
		return fmt.Errorf("apply: %d objects, but %d are resolved", len(r.Objects), len(r.Resolved))
	}
	for i, o := range r.Objects {
		res := r.Resolved[i]
		var head struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
		}
		err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &head)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", lifecycle.ObjectName(res), err))
		case hashOf(o.JSON) != res.Hash:
			problems = append(problems, fmt.Errorf("%s: is not what was resolved as number %d", lifecycle.ObjectName(res), i))
		case head.Metadata.Labels[keys.Target] != r.Target:
			problems = append(problems, fmt.Errorf("%s: lacks the label %s=%s, by which it is found again",
				lifecycle.ObjectName(res), keys.Target, r.Target))
		}
	}
	if len(problems) > 0 {
		return &lifecycle.Error{Op: "deliver", On: "the objects", Err: errors.Join(problems...)}
	}
	return nil
}

// delivery is one call of Deliver.
type delivery struct {
	*Deliverer
	r      lifecycle.DeliverRequest
	before memory
	whole  bool // before and after are whole objects, not their metadata
	proof  proof
	kinds  kindSet
	seen   []receipt.Seen // of each object, once it is applied or known to be
	// compared receives what an object was and would be, if that is wanted.
	compared func(i int, a answer)

	mu        sync.Mutex
	changes   []lifecycle.ChangeType
	completed []receipt.Object
	conflicts []lifecycle.Conflict
	refused   []error
	stopped   error
}

// sound says that nothing has gone wrong yet. After the first object that is
// refused, nothing more is written: the others are only asked about, so that
// all that is wrong is reported together.
func (v *delivery) sound() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stopped == nil && len(v.conflicts) == 0 && len(v.refused) == 0
}

func (v *delivery) over() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stopped != nil
}

// run applies the objects of one stage.
func (v *delivery) run(ctx context.Context, stage int) {
	var members []int
	for i, o := range v.r.Resolved {
		if stageOf(o) == stage {
			members = append(members, i)
		}
	}
	v.each(ctx, len(members), func(n int) {
		if !v.over() {
			v.apply(ctx, members[n])
		}
	})
}

func (v *delivery) apply(ctx context.Context, i int) {
	o := v.r.Resolved[i]
	if v.done(ctx, i) {
		return
	}
	ask := v.r.DryRun || !v.sound()
	a, err := v.send(ctx, i, ask)
	if err != nil && ask && v.comes(o, err) {
		a, err = answer{code: http.StatusCreated}, nil
	}
	if err == nil && !ask {
		v.seen[i], err = seenOf(o, a.after, v.manager)
	}
	if v.compared != nil {
		v.compared(i, v.forced(ctx, i, a, err))
	}
	if err != nil {
		v.fail(ctx, i, err)
		return
	}
	v.note(i, change(a, ask), ask)
}

// done says whether nothing has to be sent for an object: it is as it was
// applied before, or is a Job that has run.
func (v *delivery) done(ctx context.Context, i int) bool {
	o := v.r.Resolved[i]
	held, there := v.before[keyOf(o)]
	seen, unchanged := v.unchanged(i)
	ran := isOnce(o) && (contains(v.r.Completed, o) || !there && v.ranToTheEnd(ctx, o))
	if !unchanged && !ran {
		return false
	}
	v.seen[i] = seen
	if v.compared != nil && there {
		v.compared(i, answer{before: held, after: held})
	}
	v.note(i, lifecycle.ChangeUnchanged, v.r.DryRun)
	if ran {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.completed = append(v.completed, o)
	}
	return true
}

// note keeps what became of an object.
func (v *delivery) note(i int, change lifecycle.ChangeType, ask bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ask && !v.r.DryRun {
		return
	}
	v.changes[i] = change
	if v.r.Progress != nil {
		v.r.Progress(lifecycle.Change{Type: change, Object: v.r.Resolved[i]})
	}
}

// fail keeps why an object was not accepted.
func (v *delivery) fail(ctx context.Context, i int, err error) {
	err, stop := v.explainApply(ctx, v.r.Resolved[i], err)
	v.mu.Lock()
	defer v.mu.Unlock()
	var c *lifecycle.ConflictError
	switch {
	case stop && v.stopped == nil:
		v.stopped = err
	case stop:
		// The first says enough: the others met the same end.
	case errors.As(err, &c):
		v.changes[i] = lifecycle.ChangeConflict
		v.conflicts = append(v.conflicts, c.Conflicts...)
	default:
		v.refused = append(v.refused, err)
	}
}

// settle waits until the kinds and namespaces that this delivery changed can
// be used.
func (v *delivery) settle(ctx context.Context) {
	var wait []receipt.Object
	for i, o := range v.r.Resolved {
		if stageOf(o) == stageDefinitions && v.changes[i] != lifecycle.ChangeUnchanged {
			wait = append(wait, o)
		}
	}
	if len(wait) == 0 {
		return
	}
	if _, err := v.Wait(ctx, lifecycle.ObserveRequest{Target: v.r.Target, Objects: wait}); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.stopped = err
	}
}

func (v *delivery) result(ctx context.Context) (lifecycle.DeliverResult, error) {
	result := lifecycle.DeliverResult{Completed: v.completed}
	for i, c := range v.changes {
		if c != "" {
			result.Changes = append(result.Changes, lifecycle.Change{Type: c, Object: v.r.Resolved[i]})
		}
		if v.seen[i] != (receipt.Seen{}) && !v.r.DryRun {
			result.Seen = append(result.Seen, v.seen[i])
		}
	}
	slices.SortFunc(result.Completed, receipt.CompareObjects)
	problems := v.refused
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if len(v.conflicts) > 0 {
		sortConflicts(v.conflicts)
		problems = append(problems, &lifecycle.ConflictError{Conflicts: v.conflicts})
	}
	if v.stopped != nil {
		problems = append(problems, v.stopped)
	} else if ctx.Err() != nil {
		problems = append(problems, context.Cause(ctx))
	}
	if len(problems) == 1 {
		return result, problems[0]
	}
	return result, errors.Join(problems...)
}
