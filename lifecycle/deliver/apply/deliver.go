package apply

import (
	"context"
	"errors"
	"fmt"
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
	if err := check(r); err != nil {
		return lifecycle.DeliverResult{}, err
	}
	if len(r.Objects) == 0 {
		return lifecycle.DeliverResult{}, nil
	}
	before, err := d.remember(ctx, r)
	if err != nil {
		return lifecycle.DeliverResult{}, err
	}
	kinds, _ := declared(r.Objects)
	v := &delivery{
		Deliverer: d, r: r, before: before, kinds: kinds,
		changes: make([]lifecycle.ChangeType, len(r.Objects)), seen: make([]receipt.Seen, len(r.Objects)),
	}
	for stage := range stages {
		v.run(ctx, stage)
		if stage == stageDefinitions && !r.DryRun && v.sound() {
			v.settle(ctx)
		}
	}
	return v.result(ctx)
}

// check refuses what a delivery could not find again, or would put elsewhere
// than was said.
func check(r lifecycle.DeliverRequest) error {
	if r.Target == "" {
		return errors.New("apply: DeliverRequest.Target is missing")
	}
	if r.Guard == nil && !r.DryRun {
		return errors.New("apply: DeliverRequest.Guard is missing; only a dry run needs no leave to write")
	}
	if len(r.Objects) != len(r.Resolved) {
		return fmt.Errorf("apply: %d objects, but %d are resolved", len(r.Objects), len(r.Resolved))
	}
	var problems []error
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
	kinds  kindSet
	seen   []receipt.Seen // of each object, once it is applied

	mu        sync.Mutex
	changes   []lifecycle.ChangeType
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
	ask := v.r.DryRun || !v.sound()
	change, err := v.send(ctx, i, ask)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		if ask && !v.r.DryRun {
			return
		}
		v.changes[i] = change
		if v.r.Progress != nil {
			v.r.Progress(lifecycle.Change{Type: change, Object: o})
		}
		return
	}
	err, stop := v.explainApply(ctx, o, err)
	var c *lifecycle.ConflictError
	switch {
	case stop && v.stopped == nil:
		v.stopped = err
	case stop:
		// The first says enough: the others met the same end.
	case errors.As(err, &c):
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
	var result lifecycle.DeliverResult
	for i, c := range v.changes {
		if c != "" {
			result.Changes = append(result.Changes, lifecycle.Change{Type: c, Object: v.r.Resolved[i]})
			if !v.r.DryRun {
				result.Seen = append(result.Seen, v.seen[i])
			}
		}
	}
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
