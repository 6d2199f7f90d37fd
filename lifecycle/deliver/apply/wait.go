package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	// farewell bounds the reading of pods after the wait itself has ended.
	farewell = 5 * time.Second
	// askPods is how often the pods of what is not healthy are read while it is
	// waited for: they say why long before their workload does, and are not
	// watched, since that is a right more.
	askPods = 2 * time.Second
)

// Wait looks, and while something is not healthy it watches the resources that
// have such objects. When all are healthy it looks once more, so that what it
// returns is of one moment.
//
// What the progress hears of an object ends with what its pods say, as soon as
// that is known.
//
// It ends early when an object has failed for good. What it returns then, or
// when ctx ends, is what it saw last, with a *lifecycle.UnhealthyError that
// names each object and, as far as they may be read, what its pods say. Its Err
// is ctx's cause; nil for an object that failed. Other errors match
// lifecycle.ErrUnreachable.
func (d *Deliverer) Wait(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	for {
		v, err := d.look(ctx, r)
		if ctx.Err() != nil {
			return d.neverSeen(ctx, r)
		}
		if err != nil {
			return lifecycle.Observation{}, err
		}
		unready := v.unready()
		if len(unready) == 0 {
			return v.observation()
		}
		v.report(unready)
		if !anyFailed(unready) {
			unready, err = d.watch(ctx, v, unready)
			if err != nil {
				return lifecycle.Observation{}, err
			}
		}
		r.Completed = v.completed()
		if len(unready) > 0 {
			return d.unhealthy(ctx, v)
		}
	}
}

// watch keeps the view up to date until all is healthy, something failed, or
// ctx ended. It returns what is not healthy then.
func (d *Deliverer) watch(ctx context.Context, v *view, unready []lifecycle.ObjectStatus) ([]lifecycle.ObjectStatus, error) {
	wctx, cancel := context.WithCancelCause(ctx)
	out := make(chan news)
	var wg sync.WaitGroup
	for n, l := range v.lists {
		if !slices.ContainsFunc(unready, func(s lifecycle.ObjectStatus) bool { return holds(l.of, s.Object) }) {
			continue
		}
		wg.Go(func() {
			if err := d.follow(wctx, n, l, v.r.Target, out); err != nil {
				cancel(err)
			}
		})
	}
	defer wg.Wait()
	defer cancel(nil)
	pods := time.NewTicker(askPods)
	defer pods.Stop()
	answers := make(chan map[key]string, 1)
	asking, details := false, map[key]string{}
	said := unready
	for len(unready) > 0 && !anyFailed(unready) {
		select {
		case n := <-out:
			v.learn(n)
			unready = v.unready()
		case <-pods.C:
			d.recall(wctx, v)
			unready = v.unready()
			if !asking {
				asking = true
				some := v.some(unready)
				wg.Go(func() { answers <- d.details(wctx, some) })
			}
		case details = <-answers:
			asking = false
		case <-wctx.Done():
			if ctx.Err() != nil {
				return unready, nil
			}
			return nil, context.Cause(wctx)
		}
		now := slices.Clone(unready)
		withDetails(now, details)
		if !slices.Equal(now, said) {
			said = now
			v.report(now)
		}
	}
	return unready, nil
}

// holds says whether a list of the collection has, or would have, the object.
func holds(c collection, o receipt.Object) bool {
	return c.in("") == collectionOf(o).in("") && (c.namespace == "" || c.namespace == o.Namespace)
}

func (v *view) learn(n news) {
	of := v.lists[n.list].of
	switch {
	case n.full:
		v.replace(n.all)
	default:
		v.hold(keyIn(of, n.item), n.item)
		if n.gone {
			delete(v.held, keyIn(of, n.item))
		}
	}
}

func (v *view) report(unready []lifecycle.ObjectStatus) {
	if v.r.Progress != nil {
		v.r.Progress(lifecycle.Observation{Unready: unready})
	}
}

func anyFailed(list []lifecycle.ObjectStatus) bool {
	return slices.ContainsFunc(list, func(s lifecycle.ObjectStatus) bool { return s.Failed })
}

// unhealthy reports what was seen last.
func (d *Deliverer) unhealthy(ctx context.Context, v *view) (lifecycle.Observation, error) {
	o, err := v.observation()
	if err != nil {
		return o, err
	}
	e := &lifecycle.UnhealthyError{Unready: o.Unready, Err: context.Cause(ctx)}
	// The reasons are worth a moment more than the caller had.
	dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	d.addDetails(dctx, v, o.Unready)
	return o, e
}

// neverSeen reports that the time was over before a look was.
func (d *Deliverer) neverSeen(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	var o lifecycle.Observation
	for _, obj := range r.Objects {
		o.Unready = append(o.Unready, lifecycle.ObjectStatus{Object: obj, Reason: "time was over before it was seen healthy together with all others"})
	}
	return o, &lifecycle.UnhealthyError{Unready: o.Unready, Err: context.Cause(ctx)}
}
