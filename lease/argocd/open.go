package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

// Open implements lease.Gate. It removes operations that the windows of the
// claim's holder have parked, ends the windows, asks the controller to look, and
// has what Argo CD would not restore by itself synced in full, at the revision that
// was compared, without pruning. It waits until each Application has no difference
// from what is declared, or cannot come there by itself, and then removes the
// windows. If Config.Settle or ctx is over before, they stay, without denying
// anything, for Open or Sweep to go on, and that is no error.
//
// What cannot be opened does not keep the rest closed: the Report is valid beside
// an error.
func (g *Gate) Open(ctx context.Context, c lease.Claim) (lease.Report, error) {
	mark := markOf(c)
	h, err := g.newHandBack(ctx, c, func(m argo.Mark) bool { return sameHolder(m, mark) })
	if err != nil {
		return lease.Report{}, err
	}
	return h.run(ctx)
}

// Sweep implements lease.Gate. It makes one call where nothing is left over. A
// window whose mark begins as those of leases do and cannot be read is left alone;
// it is among Report.Others.
func (g *Gate) Sweep(ctx context.Context, c lease.Claim) (lease.Report, error) {
	h, err := g.newHandBack(ctx, c, func(m argo.Mark) bool { return leftOver(m, c) })
	if err != nil {
		return lease.Report{}, err
	}
	h.tellUnreadable()
	return h.run(ctx)
}

// leftOver is the rule of lease.Gate.
func leftOver(m argo.Mark, c lease.Claim) bool {
	return m.Of(c.Namespace, c.Target) && (m.Token < c.Token || m.Token == c.Token && m.Holder != c.Holder || !m.End.After(c.Now))
}

// handBack gives back to Argo CD what leases have covered whose time is over.
type handBack struct {
	*Gate
	claim    lease.Claim
	began    time.Time // on this machine's clock, when the claim was made
	projects map[string]*argo.Project
	closed   []*closed
	apps     map[string]*returning
	report   lease.Report
}

// closed is the window of a holder in a project.
type closed struct {
	project string
	mark    argo.Mark
	names   []string // those that are names
	open    bool
}

func (g *Gate) newHandBack(ctx context.Context, c lease.Claim, which func(argo.Mark) bool) (*handBack, error) {
	h := &handBack{Gate: g, claim: c, began: g.config.Clock.Now(), projects: map[string]*argo.Project{}, apps: map[string]*returning{}}
	projects, err := g.client.Projects(ctx, g.config.Namespace)
	if err != nil {
		return nil, fail(opening, "the AppProjects of namespace "+g.config.Namespace, err)
	}
	for _, p := range projects {
		h.projects[p.Metadata.Name] = p
		var here []*closed
		for _, w := range p.Spec.SyncWindows {
			m, err := w.Mark()
			if err != nil || m == nil || !which(*m) {
				continue
			}
			if slices.ContainsFunc(here, func(c *closed) bool { return sameHolder(c.mark, *m) }) {
				continue // a copy, with those of the same holder
			}
			here = append(here, &closed{project: p.Metadata.Name, mark: *m, names: slices.DeleteFunc(namesIn(p, *m), func(n string) bool {
				return len(validation.IsDNS1123Subdomain(n)) > 0 // somebody else put it there
			})})
		}
		h.closed = append(h.closed, here...)
	}
	return h, nil
}

// now is the API server's time, as far as it is known.
func (h *handBack) now() time.Time { return h.claim.Now.Add(h.config.Clock.Now().Sub(h.began)) }

func (h *handBack) run(ctx context.Context) (lease.Report, error) {
	var errs []error
	for _, c := range h.closed {
		errs = append(errs, h.open(ctx, c))
	}
	if err := h.settle(ctx); err != nil && ctx.Err() == nil {
		errs = append(errs, err)
	}
	for _, c := range h.closed {
		if ctx.Err() == nil && c.open && !h.pending(c) {
			errs = append(errs, h.remove(ctx, c))
		}
	}
	h.tell()
	return h.report, errors.Join(errs...)
}

// open ends a window. Before that, while the window still holds them, it removes
// the operations that are parked: they would begin the moment it ends.
func (h *handBack) open(ctx context.Context, c *closed) error {
	apps, err := h.readAll(ctx, opening, c.names)
	if err != nil {
		return err
	}
	for _, n := range c.names {
		if apps[n] == nil {
			continue
		}
		_, err := h.changeApplication(ctx, apps[n], nil, func(a *argo.Application) ([]argo.Op, error) { return argo.UnparkOps(a), nil })
		if err != nil && !isNotFound(err) {
			return fail(opening, argo.Name(h.config.Namespace, n), err)
		}
	}
	ended := false
	p, err := h.changeProject(ctx, h.projects[c.project], nil, func(p *argo.Project) ([]argo.Op, error) {
		ops := endOps(p, c.mark, h.now())
		ended = ended || ops != nil
		return ops, nil
	})
	if err != nil && !isNotFound(err) {
		return fail(opening, h.projects[c.project].String(), err)
	}
	c.open = true
	if err == nil {
		h.projects[c.project] = p
	}
	if ended {
		h.report.Opened = append(h.report.Opened, fmt.Sprintf("%s: %s", p, strings.Join(c.names, ", ")))
	}
	for _, n := range c.names {
		h.apps[n] = &returning{}
	}
	return nil
}

// endOps end the window of a holder, whatever was made of it. Copies are removed.
func endOps(p *argo.Project, mark argo.Mark, at time.Time) []argo.Op {
	there := windowsOf(p, mark)
	if len(there) == 0 {
		return nil
	}
	w, wrong := read(p.Spec.SyncWindows[there[0].index], there[0].mark)
	if w.mark.Ended && len(wrong) == 0 && len(there) == 1 {
		return nil
	}
	if w.start.IsZero() {
		w.start = at.UTC()
	}
	w.names = namesIn(p, mark)
	w.mark.First = slices.ContainsFunc(there, func(f found) bool { return f.mark.First })
	return append(removeOps(p, there[1:]), replaceOps(p, there[0].index, w.ended(at))...)
}

// pending says whether a window still stands for something to do.
func (h *handBack) pending(c *closed) bool {
	return slices.ContainsFunc(c.names, func(n string) bool { return !h.apps[n].final() })
}

func (h *handBack) remove(ctx context.Context, c *closed) error {
	_, err := h.changeProject(ctx, h.projects[c.project], nil, func(p *argo.Project) ([]argo.Op, error) {
		return removeOps(p, windowsOf(p, c.mark)), nil
	})
	if isNotFound(err) {
		return nil
	}
	return fail(opening, h.projects[c.project].String(), err)
}

// tell reports what is not settled, and whose windows keep it from being so.
func (h *handBack) tell() {
	for _, n := range slices.Sorted(maps.Keys(h.apps)) {
		r := h.apps[n]
		if r.step.do != settled {
			h.report.Pending = append(h.report.Pending, lease.Pending{Name: n, Reason: cmp.Or(r.step.reason, "it was not looked at yet"), Failed: r.step.do == failed})
		}
		if c := r.past.closed; c != nil && !h.ofTarget(c.Window) {
			h.report.Others = append(h.report.Others, n+": "+c.Reason)
		}
	}
}

// ofTarget says whether a window is of a lease of the same target: somebody has
// borrowed it again.
func (h *handBack) ofTarget(w argo.Window) bool {
	m, err := w.Mark()
	return err == nil && m != nil && m.Of(h.claim.Namespace, h.claim.Target)
}

// tellUnreadable reports windows that may be of a lease, and may be of anybody's.
func (h *handBack) tellUnreadable() {
	for _, name := range slices.Sorted(maps.Keys(h.projects)) {
		for i, w := range h.projects[name].Spec.SyncWindows {
			if _, err := w.Mark(); err != nil {
				h.report.Others = append(h.report.Others, fmt.Sprintf("%s: whose its window %d is cannot be told: %v; if it is nobody's, remove it: argocd proj windows delete %s %d",
					h.projects[name], i, err, name, i))
			}
		}
	}
}
