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

// Extend implements lease.Gate. It reads the projects and each Application. Every
// window must stand exactly as it was written, but for its description, must not
// have ended, and must be in the project of its Applications; otherwise the error
// matches lease.ErrOpened, and says what differs and, where that is recorded, who
// wrote the windows last.
func (g *Gate) Extend(ctx context.Context, c lease.Claim) error {
	if err := checkClaim(extending, c); err != nil {
		return err
	}
	projects, err := g.client.Projects(ctx, g.config.Namespace)
	if err != nil {
		return fail(extending, "the AppProjects of namespace "+g.config.Namespace, err)
	}
	apps, err := g.readAll(ctx, extending, c.Covers)
	if err != nil {
		return err
	}
	standing, err := whole(projects, apps, c)
	if err != nil {
		return err
	}
	for _, p := range standing {
		names := namesIn(p, markOf(c))
		_, err := g.changeProject(ctx, p, c.Guard, func(p *argo.Project) ([]argo.Op, error) {
			f, w, wrong := verify(p, markOf(c), names)
			if len(wrong) > 0 {
				return nil, opened(p, wrong)
			}
			if !w.mark.End.Before(c.Until) {
				return nil, nil
			}
			w.mark.End = c.Until.UTC()
			return replaceOps(p, f.index, w), nil
		})
		if err != nil {
			return plain(fail(extending, p.String(), err))
		}
	}
	return nil
}

// whole says whether the windows of a claim cover together what it covers, each
// where it has to be, and returns the projects that have one.
func whole(projects []*argo.Project, apps applications, c lease.Claim) ([]*argo.Project, error) {
	var standing []*argo.Project
	var errs []error
	coveredBy := map[string]string{}
	for _, p := range projects {
		names := namesIn(p, markOf(c))
		if names == nil {
			continue
		}
		standing = append(standing, p)
		_, w, wrong := verify(p, markOf(c), names)
		if len(wrong) == 0 && !w.mark.End.After(c.Now) {
			wrong = []string{"its window ended at " + w.mark.End.Format(time.RFC3339)}
		}
		for _, n := range names {
			coveredBy[n] = p.Metadata.Name
			if !slices.Contains(c.Covers, n) {
				wrong = append(wrong, fmt.Sprintf("its window is for %s, too, which the lease does not cover", n))
			}
		}
		if len(wrong) > 0 {
			errs = append(errs, opened(p, wrong))
		}
	}
	for _, n := range slices.Sorted(slices.Values(c.Covers)) {
		a, by := apps[n], coveredBy[n]
		switch {
		case by != "" && (a == nil || projectOf(a) == by):
		case a == nil:
			errs = append(errs, &lease.Error{Op: extending, Object: "Application " + n, Err: fmt.Errorf("%w: it does not exist any more, nor does a window for it", lease.ErrOpened)})
		case by != "":
			errs = append(errs, &lease.Error{Op: extending, Object: a.String(), Err: fmt.Errorf("%w: its project is %s now, and its window is in %s", lease.ErrOpened, projectOf(a), by)})
		default:
			errs = append(errs, missing(projects, a))
		}
	}
	return standing, errors.Join(errs...)
}

// namesIn are the names of the windows of a claim's holder in a project, sorted;
// nil if there is none.
func namesIn(p *argo.Project, m argo.Mark) []string {
	names := map[string]bool{}
	for _, f := range windowsOf(p, m) {
		for _, n := range p.Spec.SyncWindows[f.index].Names() {
			names[n] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// missing is the error of an Application whose window was removed.
func missing(projects []*argo.Project, a *argo.Application) error {
	i := slices.IndexFunc(projects, func(p *argo.Project) bool { return p.Metadata.Name == projectOf(a) })
	if i < 0 {
		return &lease.Error{Op: extending, Object: a.String(), Err: fmt.Errorf("%w: its AppProject %s does not exist any more", lease.ErrOpened, projectOf(a))}
	}
	return opened(projects[i], []string{"the window for " + a.Metadata.Name + " is not there any more"})
}

// opened is the error of a project whose window is not as it was written.
func opened(p *argo.Project, wrong []string) error {
	reason := strings.Join(wrong, "; ")
	if manager, at := argo.WindowsEditor(p); manager != "" {
		reason += fmt.Sprintf("; its windows were last written by %q at %s", manager, at.UTC().Format(time.RFC3339))
	}
	return &lease.Error{Op: extending, Object: p.String(), Err: fmt.Errorf("%w: %s", lease.ErrOpened, reason),
		Advice: "Find out who writes it: kubectl get --show-managed-fields --output yaml --namespace " + p.Metadata.Namespace + " appproject " + p.Metadata.Name +
			". Where Git does, leave spec.syncWindows out of what it declares."}
}
