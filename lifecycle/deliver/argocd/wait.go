package argocd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	// tick is how often what depends on time is judged again.
	tick = 500 * time.Millisecond
	// askObjects is how often the objects of what is not healthy are read.
	askObjects = 2 * time.Second
	// lastWords bounds the reading of objects after the wait itself has ended.
	lastWords = 5 * time.Second
)

// Wait waits until each Application, those of the layout and those that they
// declare, is live and healthy at the exact commit: the rule is in the package
// comment. It watches each of them, and reads it again at least every ten
// seconds.
//
// With a guard it moves on what does not move by itself: it asks for a refresh
// where a status is out of date, and for a sync where the policy is manual, or
// where the controller leaves a difference alone that it has failed at before. An
// operation that waits for an object which somebody has deleted since is ended, and
// begun anew. Without one it only looks.
//
// It ends early with what cannot succeed. A sync that failed, an unhealthy
// object and a time that is over are a *lifecycle.UnhealthyError that names
// Application, object, phase and message; an Application that somebody else
// wrote, or whose operation waits for a sync window, is a
// *lifecycle.BlockedError; a commit that Argo CD cannot render matches
// lifecycle.ErrSource, and one that it cannot fetch, or a controller that has not
// answered at the end, lifecycle.ErrUnreachable. What was seen last of each
// Application is returned in any case.
func (d *Deliverer) Wait(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	w := d.newWatching(r)
	if len(w.parts) == 0 {
		return lifecycle.Observation{Completed: r.Completed}, nil
	}
	if r.Anew != nil {
		if err := w.anew(ctx); err != nil {
			return w.observation(), err
		}
	}
	fctx, cancel := context.WithCancelCause(ctx)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel(nil)
	news := make(chan func())
	tell := func(f func()) {
		select {
		case news <- f:
		case <-fctx.Done():
		}
	}
	for _, p := range w.parts {
		followers.Go(func() {
			err := d.client.Follow(fctx, p.object.Namespace, p.object.Name, d.retryFor, func(a *argo.Application) {
				tell(func() { p.learn(a) })
			})
			if err != nil {
				cancel(explain("watch", p.String(), err))
			}
		})
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case f := <-news:
			f()
		case <-ticker.C:
		case <-fctx.Done():
			if ctx.Err() != nil {
				return w.over(ctx)
			}
			return w.observation(), context.Cause(fctx)
		}
		if !w.known() {
			continue
		}
		if end := w.judge(); end != nil {
			return w.observation(), errors.Join(w.explained(ctx, end), w.unpark(ctx))
		}
		if w.live() {
			return w.observation(), nil
		}
		if err := w.moveOn(ctx); err != nil {
			if ctx.Err() != nil {
				return w.over(ctx)
			}
			return w.observation(), err
		}
		w.askWhy(fctx, &followers, tell)
		w.askGone(fctx, &followers, tell)
		w.report()
	}
}

// watching is one call of Wait.
type watching struct {
	*Deliverer
	r     lifecycle.ObserveRequest
	parts []*watched
	said  []lifecycle.ObjectStatus
}

// watched is one Application that is waited for.
type watched struct {
	*part
	want  argo.Want
	heard bool // its state is known

	verdict argo.Verdict
	since   time.Time // when the verdict's state, need or fault changed last
	matched bool      // its source was once what it has to be

	refreshed, hard, synced time.Time // when these were asked for last
	repeated                time.Time // when the controller was nudged last

	// why are the reasons of its objects that are not healthy.
	why      []lifecycle.ObjectStatus
	asked    time.Time
	asking   bool
	answered bool
	gone     gone
}

func (d *Deliverer) newWatching(r lifecycle.ObserveRequest) *watching {
	w := &watching{Deliverer: d, r: r}
	for _, p := range d.looked(r) {
		w.parts = append(w.parts, &watched{part: p, want: d.want(p, r), since: d.now()})
	}
	return w
}

// want is what a part is judged against.
func (d *Deliverer) want(p *part, r lifecycle.ObserveRequest) argo.Want {
	w := argo.Want{Commit: string(r.Commit), Images: imagesOf(r.Images)}
	for _, s := range r.Seen {
		if isApplication(s.Group, s.Kind) && s.Namespace == p.object.Namespace && s.Name == p.object.Name {
			w.Hash = s.Owned
		}
	}
	for _, a := range r.Applications {
		if a.Namespace == p.object.Namespace && a.Name == p.object.Name && a.Operation != "" {
			w.Before = argo.Last{Phase: a.Operation}
			if !a.Finished.IsZero() {
				w.Before.Finished = a.Finished.Unix()
			}
		}
	}
	return w
}

// learn takes a newer state of the Application. What a watch brings may be older
// than what a write of ours answered.
func (p *watched) learn(a *argo.Application) {
	p.heard = true
	if a != nil && p.app != nil && a.OlderThan(p.app) {
		return
	}
	p.app = a
}

func (w *watching) known() bool {
	return !slices.ContainsFunc(w.parts, func(p *watched) bool { return !p.heard })
}

func (w *watching) live() bool {
	return !slices.ContainsFunc(w.parts, func(p *watched) bool { return p.verdict.State != argo.Live })
}

// unready lists what is not live yet: the objects that say why, and else the
// Application.
func (w *watching) unready() []lifecycle.ObjectStatus {
	var list []lifecycle.ObjectStatus
	for _, p := range w.parts {
		if p.verdict.State == argo.Live {
			continue
		}
		reason := p.verdict.Reason
		if !p.heard {
			reason = "it was not seen yet"
		}
		list = append(list, lifecycle.ObjectStatus{Object: p.object, Reason: reason, Failed: p.verdict.State == argo.Failed})
		list = append(list, p.why...)
	}
	return list
}

// report tells the progress when something changed.
func (w *watching) report() {
	if w.r.Progress == nil {
		return
	}
	now := w.unready()
	if !slices.Equal(now, w.said) {
		w.said = now
		w.r.Progress(lifecycle.Observation{Unready: now})
	}
}

func (w *watching) observation() lifecycle.Observation {
	o := lifecycle.Observation{Unready: w.unready(), Completed: w.r.Completed}
	var parts []*part
	for _, p := range w.parts {
		parts = append(parts, p.part)
		if p.app != nil {
			o.Orphans = append(o.Orphans, orphans(p.verdict, w.r)...)
		}
	}
	o.Seen, o.Applications = seen(parts), records(parts)
	slices.SortFunc(o.Orphans, receipt.CompareObjects)
	return o
}

// askWhy reads the objects of Applications that are synced and not healthy.
func (w *watching) askWhy(ctx context.Context, wg *sync.WaitGroup, tell func(func())) {
	for _, p := range w.parts {
		if !p.verdict.Synced || p.verdict.State == argo.Live && !p.want.Healthy {
			p.why, p.answered = nil, false
			continue
		}
		if p.asking || w.now().Sub(p.asked) < askObjects {
			continue
		}
		p.asking, p.asked = true, w.now()
		r := w.request(p, nil)
		wg.Go(func() {
			o, err := w.objects.Observe(ctx, r)
			tell(func() {
				p.asking = false
				if err == nil {
					p.why, p.answered = o.Unready, true
				}
			})
		})
	}
}
