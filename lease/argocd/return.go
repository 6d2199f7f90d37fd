package argocd

import (
	"context"
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
}

// final says that there is nothing more to do.
func (r *returning) final() bool { return r.step.do == settled || r.step.do == failed }

// settle moves the Applications on until each is settled, has failed, or is
// blocked.
func (h *handBack) settle(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(h.apps))
	_, err := h.await(ctx, names, h.config.Settle, func(now applications) (bool, error) {
		done := true
		for _, n := range names {
			r := h.apps[n]
			if r.final() {
				continue
			}
			changed, err := h.move(ctx, r, now[n])
			if err != nil {
				return false, fail(opening, argo.Name(h.config.Namespace, n), err)
			}
			if changed != nil {
				now.learn(n, changed)
			}
			done = done && (r.final() || r.step.do == blocked)
		}
		return done, nil
	})
	return err
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
