package argocd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

const (
	// longest is how long a window can last: one of a year would never end.
	longest = 300 * 24 * time.Hour
	// takeBackFor bounds taking windows back after ctx may have ended.
	takeBackFor = 30 * time.Second
)

// checkClaim wants a claim that a mark can carry.
func checkClaim(op string, c lease.Claim) error {
	var errs []error
	if len(c.Covers) == 0 {
		errs = append(errs, errors.New("it covers nothing"))
	}
	if !c.Until.After(c.Now) || c.Until.Sub(c.Now) > longest {
		errs = append(errs, fmt.Errorf("it is from %s until %s, want at most %s", c.Now.Format(time.RFC3339), c.Until.Format(time.RFC3339), longest))
	}
	errs = append(errs, markOf(c).Check(), checkNames(c.Covers))
	if err := errors.Join(errs...); err != nil {
		return &lease.Error{Op: op, Object: "the lease of target " + c.Target, Err: fmt.Errorf("%w Claim: %w", lease.ErrInvalid, err)}
	}
	return nil
}

// Close implements lease.Gate. Once no operation is set or runs in what is
// covered, it adds a window to each project, asks the controller to look at every
// Application, and waits for its answer, at most Config.Answer: what it decides
// from then on, it decides by the windows. If an operation has begun by then,
// which a window would stop half-way, the windows are taken away again until it
// has ended. One that was set and has done nothing yet stays parked until the
// gate opens, and is removed then.
//
// The error matches lease.ErrBusy where an operation does not end, with its
// Application and who began it, and lease.ErrInvalid where Resolve would refuse.
func (g *Gate) Close(ctx context.Context, c lease.Claim) error {
	if err := checkClaim(closing, c); err != nil {
		return err
	}
	end := g.config.Clock.Now().Add(c.Wait)
	for {
		found, err := g.look(ctx, closing, c.Covers)
		if err != nil {
			return err
		}
		stood := stands(found, c)
		if !stood {
			if err := g.idle(ctx, c.Covers, end.Sub(g.config.Clock.Now())); err != nil {
				return err
			}
		}
		began, err := g.close(ctx, c, found)
		if err == nil && len(began) == 0 {
			return nil
		}
		if err != nil && stood {
			return plain(err) // it did nothing that was to be taken back
		}
		if terr := g.takeBack(ctx, c); terr != nil {
			err = errors.Join(err, fmt.Errorf("and its windows could not be taken back, which end by themselves at %s: %w", c.Until.UTC().Format(time.RFC3339), terr))
		}
		if err != nil {
			return plain(err)
		}
		if !g.config.Clock.Now().Before(end) {
			return errors.Join(began...)
		}
	}
}

// idle waits until no operation is set or runs.
func (g *Gate) idle(ctx context.Context, names []string, during time.Duration) error {
	var running []error
	done, err := g.await(ctx, names, during, func(now applications) (bool, error) {
		running = nil
		for _, n := range names {
			if a := now[n]; a != nil && argo.Busy(a) {
				running = append(running, busy(a))
			}
		}
		return len(running) == 0, nil
	})
	if err != nil {
		return errors.Join(append([]error{fail(closing, "the Applications "+strings.Join(names, ", "), err)}, running...)...)
	}
	if !done {
		return errors.Join(running...)
	}
	return nil
}

// byProject are the names of a claim by their projects.
func byProject(found *covered, c lease.Claim) map[string][]string {
	names := map[string][]string{}
	for _, n := range slices.Sorted(slices.Values(c.Covers)) {
		p := projectOf(found.apps[n])
		names[p] = append(names[p], n)
	}
	return names
}

// stands says whether all windows of a claim are there already.
func stands(found *covered, c lease.Claim) bool {
	for project, names := range byProject(found, c) {
		if _, w, wrong := verify(found.projects[project], markOf(c), names); len(wrong) > 0 || !w.mark.End.Equal(c.Until) {
			return false
		}
	}
	return true
}

// close puts the windows there, and looks whether an operation has begun
// meanwhile: that is what it returns beside an error.
func (g *Gate) close(ctx context.Context, c lease.Claim, found *covered) (began []error, err error) {
	wanted := byProject(found, c)
	for _, name := range slices.Sorted(maps.Keys(found.projects)) {
		p := found.projects[name]
		changed, err := g.changeProject(ctx, p, c.Guard, closeOps(c, wanted[name]))
		if err != nil {
			return nil, fail(closing, p.String(), err)
		}
		if wanted[name] == nil {
			continue
		}
		if _, _, wrong := verify(changed, markOf(c), wanted[name]); len(wrong) > 0 {
			return nil, &lease.Error{Op: closing, Object: p.String(),
				Err:    fmt.Errorf("what the API server made of the window denies something else: %s", strings.Join(wrong, "; ")),
				Advice: "Bring Argo CD's definition of AppProjects up to date: 3.0 or newer is needed."}
		}
	}
	return g.second(ctx, c)
}

// closeOps give a project one window of the claim, of those names, or none.
func closeOps(c lease.Claim, names []string) func(*argo.Project) ([]argo.Op, error) {
	return func(p *argo.Project) ([]argo.Op, error) {
		there := windowsOf(p, markOf(c))
		if len(names) == 0 {
			return removeOps(p, there), nil
		}
		if _, w, wrong := verify(p, markOf(c), names); len(wrong) == 0 && w.mark.End.Equal(c.Until) {
			return nil, nil
		}
		if len(there) == 0 {
			return addOps(p, newWindow(c, names)), nil
		}
		w := newWindow(c, names)
		w.mark.First = there[0].mark.First
		return append(removeOps(p, there[1:]), replaceOps(p, there[0].index, w)...), nil
	}
}

// second looks a second time, with the windows there.
func (g *Gate) second(ctx context.Context, c lease.Claim) ([]error, error) {
	asked := map[string]bool{}
	var began, open []error
	done, err := g.await(ctx, c.Covers, g.config.Answer, func(now applications) (bool, error) {
		began, open = nil, nil
		waits := false
		for _, n := range c.Covers {
			a := now[n]
			switch {
			case a == nil:
			case begun(a):
				began = append(began, busy(a))
			case !asked[n] && !a.RefreshAsked():
				changed, err := g.changeApplication(ctx, a, c.Guard, func(a *argo.Application) ([]argo.Op, error) {
					if a.RefreshAsked() {
						return nil, nil
					}
					return argo.RefreshOps(a, "normal"), nil
				})
				if isNotFound(err) {
					continue
				}
				if err != nil {
					return false, fail(closing, a.String(), err)
				}
				now.learn(n, changed)
				asked[n], waits = true, true
			case a.RefreshAsked():
				waits = true
			case argo.Busy(a) && !argo.Parked(a):
				open = append(open, busy(a)) // it is set, and not yet taken up
			}
		}
		return len(began) > 0 || !waits && len(open) == 0, nil
	})
	switch {
	case err != nil:
		return nil, fail(closing, "the Applications "+strings.Join(c.Covers, ", "), err)
	case !done:
		g.config.Log.Debug("the controller has not answered", "target", c.Target, "applications", c.Covers)
	}
	return append(began, open...), nil
}

// begun says whether an operation runs that has done something: a window would
// stop it half-way.
func begun(a *argo.Application) bool {
	s := a.Status.OperationState
	if s == nil || s.Phase != "Running" && s.Phase != "Terminating" {
		return false
	}
	return !argo.Parked(a) || s.SyncResult != nil && len(s.SyncResult.Resources) > 0
}

// takeBack removes all windows of the claim. ctx may be over.
func (g *Gate) takeBack(ctx context.Context, c lease.Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackFor)
	defer cancel()
	projects, err := g.client.Projects(ctx, g.config.Namespace)
	if err != nil {
		return fail(closing, "the AppProjects of namespace "+g.config.Namespace, err)
	}
	var errs []error
	for _, p := range projects {
		_, err := g.changeProject(ctx, p, nil, func(p *argo.Project) ([]argo.Op, error) { return removeOps(p, windowsOf(p, markOf(c))), nil })
		errs = append(errs, fail(closing, p.String(), err))
	}
	return errors.Join(errs...)
}
