package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	// patience is how long the controller is given to do by itself what it
	// should: to look, to begin a sync.
	patience = 5 * time.Second
	// settle is how long something has to stay wrong that a controller may still
	// mend: another source in an Application that its parent writes, a degraded
	// object.
	settle = 15 * time.Second
	// again is how long one request is given before it is made again.
	again = 30 * time.Second
)

// judge judges every Application, and returns the error that ends the wait, nil
// if none does.
func (w *watching) judge() error {
	for _, p := range w.parts {
		p.forget()
		p.want.Healthy = p.declaredHealthy()
		v := argo.Judge(p.app, p.want)
		if v.State != p.verdict.State || v.Need != p.verdict.Need || v.Fault != p.verdict.Fault {
			p.since = w.now()
		}
		p.verdict = v
		if p.app != nil && v.State != argo.Foreign {
			p.matched = true
		}
	}
	for _, p := range w.parts {
		if err := w.end(p); err != nil {
			return err
		}
	}
	return nil
}

// end says whether, and how, an Application's state ends the wait.
func (w *watching) end(p *watched) error {
	lasts := w.now().Sub(p.since)
	switch v := p.verdict; v.State {
	case argo.Foreign:
		return w.foreign(p, lasts)
	case argo.Blocked:
		// The controller takes a new operation for an automated one before it
		// has recorded it, so one that passes the window is parked for a moment.
		if lasts <= patience && !p.synced.IsZero() {
			return nil
		}
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("%s: %s", p, v.Reason),
			Next: "Deliver when the window is over, or look at it: argocd proj windows list " + p.app.Spec.Project}
	case argo.Failed:
		switch v.Fault {
		case argo.FaultSync:
			// A change beside it may yet reach the API server: the project, or the
			// definition of the kind.
			if v.Retrying && v.Retries < 2 && lasts <= settle {
				return nil
			}
			return &lifecycle.UnhealthyError{Unready: w.failed(p)}
		case argo.FaultHealth:
			broken := slices.ContainsFunc(p.why, func(s lifecycle.ObjectStatus) bool { return s.Failed })
			if broken || lasts > settle {
				return &lifecycle.UnhealthyError{Unready: w.failed(p)}
			}
		default:
			// It may be of a cache, or of what another Application brings: it is
			// true when it stands after a hard refresh.
			if lasts > settle || !p.hard.IsZero() && p.app != nil && !p.app.RefreshAsked() && p.app.Status.ReconciledAt.After(p.hard.Add(-time.Second)) && lasts > patience {
				return w.broken(p)
			}
		}
	}
	return nil
}

// foreign ends the wait when an Application of the layout has another source
// than was written. One that another writes is given time to be written, and
// then to be mended.
func (w *watching) foreign(p *watched, lasts time.Duration) error {
	if !p.direct {
		parents := !slices.ContainsFunc(w.parts, func(q *watched) bool { return q.direct && !q.verdict.Synced })
		if lasts <= settle || !p.matched && !parents {
			if !p.matched {
				p.verdict.State, p.verdict.Reason = argo.Waiting, "the Application above it has not pointed it at the commit yet"
			}
			return nil
		}
	}
	return &lifecycle.BlockedError{Reason: fmt.Sprintf("%s was reverted, or edited by somebody: %s", p, p.verdict.Reason),
		Next: "Find out who writes it, and deliver again: kubectl get --show-managed-fields --output yaml --namespace " + p.object.Namespace + " application " + p.object.Name}
}

// broken is the error of what no waiting mends.
func (w *watching) broken(p *watched) error {
	if class(p.verdict.Fault) == lifecycle.ErrBlocked {
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("%s: %s", p, p.verdict.Reason), Next: advice(p.String(), p.verdict)}
	}
	return &lifecycle.Error{Op: "deliver", On: p.String(), Class: class(p.verdict.Fault), Err: errors.New(p.verdict.Reason), Advice: advice(p.String(), p.verdict)}
}

// refusal says why a resource made a sync fail, and what to do where that is
// known.
func refusal(p *watched, f argo.Failure) string {
	reason := fmt.Sprintf("%s (%s)", f, p)
	if f.ForbiddenByProject() {
		reason += fmt.Sprintf("; a project that Pharos made is brought up to date by kubectl pharos deploy, another one is edited: kubectl edit appproject --namespace %s %s",
			p.object.Namespace, orDefault(p.app.Spec.Project, "default"))
	}
	return reason
}

// failed lists an Application that failed, with the resources that did, and what
// else is not live.
func (w *watching) failed(p *watched) []lifecycle.ObjectStatus {
	list := []lifecycle.ObjectStatus{{Object: p.object, Reason: p.verdict.Reason, Failed: true}}
	if p.verdict.Fault == argo.FaultSync {
		for _, f := range p.verdict.Failures {
			list = append(list, lifecycle.ObjectStatus{Object: objectOf(f.Resource, w.r), Reason: refusal(p, f), Failed: true})
		}
	}
	list = append(list, p.why...)
	for _, q := range w.parts {
		if q != p && q.verdict.State != argo.Live {
			list = append(list, lifecycle.ObjectStatus{Object: q.object, Reason: q.verdict.Reason})
		}
	}
	return list
}

// moveOn does what is needed and does not come by itself.
func (w *watching) moveOn(ctx context.Context) error {
	if w.r.Guard == nil {
		return nil
	}
	for _, p := range w.parts {
		if p.app == nil {
			continue
		}
		now, lasts := w.now(), w.now().Sub(p.since)
		var err error
		switch v := p.verdict; {
		case len(p.gone.objects) > 0 && !p.gone.ended:
			err = w.giveUp(ctx, p)
		case argo.Abandoned(p.app) && lasts > patience:
			err = w.change(ctx, p.part, w.r.Guard, forget)
		case argo.Unheard(p.app) && lasts > settle && now.Sub(p.repeated) > settle:
			p.repeated = now
			err = w.change(ctx, p.part, w.r.Guard, nudge)
		case v.Need == argo.NeedSync && now.Sub(p.synced) > again && (!p.app.Automated() || lasts > patience):
			p.synced = now
			p.want.Before = argo.LastOf(p.app)
			err = w.change(ctx, p.part, w.r.Guard, begin(string(w.r.Commit)))
		case (v.State == argo.Failed && v.Need == argo.NeedRefresh || v.Fault == argo.FaultSpec || v.Fault == argo.FaultRepository) && now.Sub(p.hard) > settle:
			p.hard = now
			err = w.change(ctx, p.part, w.r.Guard, ask("hard"))
		case v.Need == argo.NeedRefresh && v.State == argo.Stale && lasts > patience && now.Sub(p.refreshed) > again:
			p.refreshed = now
			err = w.change(ctx, p.part, w.r.Guard, ask("normal"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// over reports what was seen last when the time is over. Where only the
// controller's answer is missing, it says so.
func (w *watching) over(ctx context.Context) (lifecycle.Observation, error) {
	o := w.observation()
	for _, p := range w.parts {
		if p.verdict.Fault == argo.FaultRepository || p.verdict.Fault == argo.FaultCluster {
			return o, w.broken(p)
		}
	}
	stale := !slices.ContainsFunc(w.parts, func(p *watched) bool {
		return p.verdict.State != argo.Live && p.verdict.State != argo.Stale && !(p.verdict.State == argo.Waiting && !p.matched)
	})
	if i := slices.IndexFunc(w.parts, func(p *watched) bool { return p.verdict.State == argo.Stale }); i >= 0 && stale {
		p := w.parts[i]
		return o, &lifecycle.Error{Op: "deliver", On: p.String(), Class: lifecycle.ErrUnreachable,
			Err:    fmt.Errorf("%s (%w)", p.verdict.Reason, context.Cause(ctx)),
			Advice: "Check that Argo CD's application controller runs. The Application stays pointed at the commit."}
	}
	return o, w.explained(ctx, &lifecycle.UnhealthyError{Unready: o.Unready, Err: context.Cause(ctx)})
}

// explained adds to an error about objects what those objects say. That is worth
// a moment more than the caller had.
func (w *watching) explained(ctx context.Context, err error) error {
	var unhealthy *lifecycle.UnhealthyError
	if !errors.As(err, &unhealthy) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	for _, p := range w.parts {
		if p.verdict.State == argo.Live || p.app == nil || p.answered {
			continue
		}
		var only []receipt.Object
		if p.verdict.Fault == argo.FaultSync {
			only = []receipt.Object{}
			for _, f := range p.verdict.Failures {
				only = append(only, objectOf(f.Resource, w.r))
			}
		}
		r := w.request(p, only)
		if len(r.Objects) == 0 {
			continue
		}
		if o, err := w.objects.Observe(ctx, r); err == nil {
			unhealthy.Unready = append(unhealthy.Unready, o.Unready...)
		}
	}
	return unhealthy
}
