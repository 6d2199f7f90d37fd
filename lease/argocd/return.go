package argocd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
)

// returning is an Application on its way back to what is declared.
type returning struct {
	past past
	step step
	// waits is what it waits for, since then.
	waits step
	since time.Time
	known bool
	// err is what went wrong with it: then it is left to whoever comes next.
	err error
}

// final says that there is nothing more to do.
func (r *returning) final() bool { return r.step.do == settled || r.step.do == failed }

// settle moves the Applications on until each is settled, has failed, or is
// blocked. One that cannot be moved does not keep the others.
func (h *handBack) settle(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(h.apps))
	_, err := h.await(ctx, names, h.config.Settle, func(now applications) (bool, error) {
		done := true
		for _, n := range names {
			r := h.apps[n]
			if r.final() || r.err != nil {
				continue
			}
			changed, err := h.move(ctx, r, now[n])
			if err != nil {
				if err = fail(opening, argo.Name(h.config.Namespace, n), err); ctx.Err() != nil {
					return false, err
				}
				r.err, r.step = err, step{wait, "it could not be written"}
				continue
			}
			if changed != nil {
				now.learn(n, changed)
			}
			done = done && (r.final() || r.step.do == blocked)
		}
		return done, nil
	})
	errs := []error{err}
	for _, n := range names {
		errs = append(errs, h.apps[n].err)
	}
	return errors.Join(errs...)
}

// next decides about an Application's next step.
func (h *handBack) next(r *returning, a *argo.Application) step {
	if a != nil {
		if !r.known {
			r.known, r.past.before = true, argo.LastOf(a)
		}
		r.past.closed = nil
		if p := h.projects[projectOf(a)]; p != nil {
			r.past.closed = argo.Blocking(p.Spec.SyncWindows, a, h.now())
		}
	}
	r.past.lasts, r.past.answer = 0, h.config.Answer
	if waits := settle(a, r.past); waits != r.waits {
		r.waits, r.since = waits, h.config.Clock.Now()
	}
	r.past.lasts = h.config.Clock.Now().Sub(r.since)
	return settle(a, r.past)
}

// move does an Application's next step. It returns the Application if it read or
// wrote it.
func (h *handBack) move(ctx context.Context, r *returning, a *argo.Application) (*argo.Application, error) {
	r.step = h.next(r, a)
	if r.step.do == resync || r.step.do == unpark {
		// Somebody may have closed the project since it was read, for a lease of the
		// same target even.
		if err := h.readProject(ctx, a); err != nil {
			return nil, err
		}
		r.step = h.next(r, a)
	}
	if a == nil || r.step.ops(a) == nil {
		return nil, nil
	}
	before, wrote := argo.Last{}, false
	changed, err := h.changeApplication(ctx, a, nil, func(a *argo.Application) ([]argo.Op, error) {
		// Somebody may have been faster, or this write was done already.
		if wrote = settle(a, r.past).do == r.step.do; !wrote {
			return nil, nil
		}
		before = argo.LastOf(a)
		return r.step.ops(a), nil
	})
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	if err == nil && wrote {
		h.config.Log.Debug("hand back", "application", a.String(), "step", string(r.step.do))
		switch r.step.do {
		case refresh:
			r.past.asked = true
		case resync:
			r.past.synced, r.past.before = true, before
		}
	}
	r.step = step{wait, "Argo CD was asked to " + string(r.step.do) + " it"}
	r.waits = r.step
	return changed, nil
}

// readProject reads the project of an Application anew.
func (h *handBack) readProject(ctx context.Context, a *argo.Application) error {
	p, err := h.client.Project(ctx, h.config.Namespace, projectOf(a))
	if isNotFound(err) {
		return nil
	}
	if err == nil {
		h.projects[projectOf(a)] = p
	}
	return err
}
