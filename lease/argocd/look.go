package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

// Resolve implements lease.Gate. Beside a name that is not one of the target's,
// it refuses an Application that does not exist, or whose project does not, and
// one of whose name another namespace has one in the same project: a window is by
// name, and would close that one, too. It makes a call for each Application, one
// that lists the projects, and one more for each Application in a project with
// sourceNamespaces.
func (g *Gate) Resolve(ctx context.Context, covers []string) ([]string, error) {
	all, err := g.config.Applications(ctx)
	if err != nil {
		return nil, fail(resolving, "the target's Applications", err)
	}
	names := slices.Sorted(slices.Values(all))
	if len(covers) > 0 {
		names = slices.Sorted(slices.Values(covers))
	}
	names = slices.Compact(names)
	unknown := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(all, n) })
	switch {
	case len(names) == 0:
		return nil, &lease.Error{Op: borrowing, Object: "the target", Err: refusal("it has no Applications"), Advice: "Deliver the target first."}
	case len(unknown) > 0 && len(all) > 0:
		return nil, invalid(strings.Join(unknown, ", "), "not one of the target's, which are "+strings.Join(slices.Sorted(slices.Values(all)), ", "), "Name those that the lease is to cover, or none, for all.")
	case len(unknown) > 0:
		return nil, invalid(strings.Join(unknown, ", "), "the target has no Applications", "Deliver the target first.")
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	if _, err := g.look(ctx, resolving, names); err != nil {
		return nil, err
	}
	return names, nil
}

func invalid(name, reason, advice string) error {
	return &lease.Error{Op: borrowing, Object: "Application " + name, Err: refusal(reason), Advice: advice}
}

// checkNames wants names that Applications can have, and so none that a window
// would take for a glob.
func checkNames(names []string) error {
	var errs []error
	for _, n := range names {
		if msgs := validation.IsDNS1123Subdomain(n); len(msgs) > 0 {
			errs = append(errs, invalid(fmt.Sprintf("%q", n), strings.Join(msgs, "; "), ""))
		}
	}
	return errors.Join(errs...)
}

// covered are the Applications of a lease, and all projects of Argo CD.
type covered struct {
	apps     applications
	projects map[string]*argo.Project
}

// look reads them, and finds all that keeps them from being closed.
func (g *Gate) look(ctx context.Context, op string, names []string) (*covered, error) {
	c := &covered{apps: applications{}, projects: map[string]*argo.Project{}}
	projects, err := g.client.Projects(ctx, g.config.Namespace)
	if err != nil {
		return nil, fail(op, "the AppProjects of namespace "+g.config.Namespace, err)
	}
	for _, p := range projects {
		c.projects[p.Metadata.Name] = p
	}
	if c.apps, err = g.readAll(ctx, op, names); err != nil {
		return nil, err
	}
	var errs []error
	for _, n := range names {
		errs = append(errs, g.closable(ctx, op, c, n))
	}
	return c, errors.Join(errs...)
}

// closable says why an Application cannot be closed, or not without another.
func (g *Gate) closable(ctx context.Context, op string, c *covered, name string) error {
	a := c.apps[name]
	if a == nil {
		return invalid(g.config.Namespace+"/"+name, "it does not exist", "Deliver the target first, or name the Applications that the lease is to cover.")
	}
	p := c.projects[projectOf(a)]
	if p == nil {
		return invalid(g.config.Namespace+"/"+name, "its AppProject "+projectOf(a)+" does not exist", "Create it, or set spec.project of the Application to one that does.")
	}
	if len(p.Spec.SourceNamespaces) == 0 {
		return nil
	}
	same, err := g.client.Named(ctx, name)
	if apierrors.IsForbidden(err) {
		return &lease.Error{Op: op, Object: a.String(),
			Err:    fmt.Errorf("%w: %s has Applications of other namespaces, and whether one of them has the same name, which a window would close, too, cannot be told: %w", lease.ErrInvalid, p, err),
			Advice: "Ask an administrator for the right to list applications in all namespaces, or for a project of its own without sourceNamespaces."}
	}
	if err != nil {
		return fail(op, a.String(), err)
	}
	for _, o := range same {
		if o.Metadata.Namespace != g.config.Namespace && projectOf(o) == projectOf(a) {
			return invalid(g.config.Namespace+"/"+name, fmt.Sprintf("%s is in the same AppProject %s, and a sync window, which is by name, would close it, too", o, projectOf(a)),
				"Give one of them another name, or another project.")
		}
	}
	return nil
}

// projectOf is the name of an Application's project.
func projectOf(a *argo.Application) string {
	if a.Spec.Project == "" {
		return "default"
	}
	return a.Spec.Project
}

// readAtOnce is how many Applications are read at the same time.
const readAtOnce = 8

// readAll reads Applications.
func (g *Gate) readAll(ctx context.Context, op string, names []string) (applications, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	apps, errs := applications{}, make([]error, len(names))
	turn := make(chan struct{}, readAtOnce)
	for i, n := range names {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			a, err := g.client.Application(ctx, g.config.Namespace, n)
			mu.Lock()
			defer mu.Unlock()
			apps[n] = a
			if err != nil && !isNotFound(err) {
				errs[i] = fail(op, argo.Name(g.config.Namespace, n), err)
			}
		})
	}
	wg.Wait()
	return apps, errors.Join(errs...)
}

// isNotFound says whether an object does not exist, and not its kind.
func isNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !strings.Contains(err.Error(), "could not find the requested resource")
}
