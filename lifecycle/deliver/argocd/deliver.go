package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Deliver points the Applications of the layout at the commit, as the package
// comment describes. It returns once they are: [Deliverer.Wait] waits until Argo
// CD has done the rest. Before the first write it looks at every Application,
// also those that others of them declare, and reports all that stands in the way
// together.
//
// The error is that of the guard as it is, or holds (errors.Is, errors.As) a
// *lifecycle.BlockedError for each Application that somebody else would put back,
// whose project has a sync window that is closed, or in which somebody else's
// operation runs; otherwise it matches lifecycle.ErrSource where the target's
// pharos.yaml and the Application disagree, and lifecycle.ErrUnreachable where the
// cluster does not answer or does not let us. A dry run writes nothing, reports the
// same, and has the cluster try each object as Argo CD would bring it: what it
// refuses matches lifecycle.ErrSource, and what could not be tried, for lack of
// rights above all, is in the result. It takes Config.Objects to be a Foreseer.
func (d *Deliverer) Deliver(ctx context.Context, r lifecycle.DeliverRequest) (lifecycle.DeliverResult, error) {
	if r.Guard == nil && !r.DryRun {
		return lifecycle.DeliverResult{}, errors.New("argocd: DeliverRequest.Guard is missing; only a dry run needs no leave to write")
	}
	v := &delivery{Deliverer: d, r: r, projects: map[string]*argo.Project{}}
	parts, err := v.look(ctx)
	if err != nil {
		return lifecycle.DeliverResult{}, err
	}
	if r.DryRun {
		return v.tryOut(ctx, parts)
	}
	result := lifecycle.DeliverResult{Completed: slices.Clone(r.Completed)}
	for _, p := range parts {
		if p.direct {
			change, err := v.write(ctx, p)
			if err != nil {
				return result, err
			}
			result.Changes = append(result.Changes, change)
			if r.Progress != nil {
				r.Progress(change)
			}
		}
		result.Seen = append(result.Seen, asked(p))
	}
	result.Applications = records(parts)
	return result, nil
}

var _ lifecycle.Examiner = (*Deliverer)(nil)

// Examine looks at all that [Deliverer.Deliver] looks at before its first write,
// and returns the same errors. It writes nothing.
func (d *Deliverer) Examine(ctx context.Context, r lifecycle.DeliverRequest) error {
	r.Guard = nil
	v := &delivery{Deliverer: d, r: r, projects: map[string]*argo.Project{}}
	_, err := v.look(ctx)
	return err
}

// look reads the Applications, and examines them.
func (v *delivery) look(ctx context.Context) ([]*part, error) {
	parts, err := v.readParts(ctx)
	if err != nil {
		return nil, err
	}
	return parts, v.examine(ctx, parts)
}

// readParts returns the Applications, as they are declared and as they are.
func (v *delivery) readParts(ctx context.Context) ([]*part, error) {
	if len(v.r.Objects) != len(v.r.Resolved) {
		return nil, fmt.Errorf("argocd: %d objects, but %d are resolved", len(v.r.Objects), len(v.r.Resolved))
	}
	parts := v.parts(v.r.Resolved)
	if err := v.declare(parts, v.r); err != nil {
		return nil, err
	}
	return parts, v.read(ctx, parts)
}

// onlyLooks says that nothing is to be written.
func (v *delivery) onlyLooks() bool { return v.r.DryRun || v.r.Guard == nil }

// prepared says that an object comes with the preparation before the delivery.
func (v *delivery) prepared(kind, namespace, name string) bool {
	return slices.ContainsFunc(v.r.Prepared, func(o lifecycle.Object) bool {
		return o.Group == argo.Group && o.Kind == kind && o.Namespace == namespace && o.Name == name
	})
}

// delivery is one call of Deliver or Examine.
type delivery struct {
	*Deliverer
	r        lifecycle.DeliverRequest
	projects map[string]*argo.Project
}

// asked is what Wait has to find in an Application: its source as it was
// written, or as it is declared.
func asked(p *part) receipt.Seen {
	if p.direct {
		return seenOf(p.object, p.app)
	}
	s := receipt.Seen{Group: p.object.Group, Kind: p.object.Kind, Namespace: p.object.Namespace, Name: p.object.Name,
		Owned: argo.HashSources(p.declared.Sources())}
	if p.app != nil {
		s.UID = string(p.app.Metadata.UID)
	}
	return s
}

// examine finds all that stands in the way of a delivery. What may end by
// itself is waited for, if nothing else is in the way.
func (v *delivery) examine(ctx context.Context, parts []*part) error {
	var errs []error
	for _, p := range parts {
		errs = append(errs, v.mayDeliver(ctx, p))
	}
	errs = append(errs, v.permitted(ctx, parts))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, p := range parts {
		errs = append(errs, v.idle(ctx, p))
	}
	return errors.Join(errs...)
}

func (v *delivery) mayDeliver(ctx context.Context, p *part) error {
	if p.direct {
		if p.app == nil && v.prepared(argo.KindApplication, p.object.Namespace, p.object.Name) {
			return nil
		}
		if p.app == nil {
			return v.missing(p, "does not exist")
		}
		if err := v.ours(ctx, p.app); err != nil {
			return err
		}
		if _, err := v.sources(p); err != nil {
			return err
		}
	} else if p.app != nil {
		for _, o := range p.app.Metadata.OwnerReferences {
			if o.Kind == argo.KindSet {
				owner, _ := argo.OwnerOf(p.app)
				return owned(p.app, owner)
			}
		}
	}
	return v.open(ctx, p)
}

// ours wants nobody else to write the spec of an Application.
func (v *delivery) ours(ctx context.Context, a *argo.Application) error {
	if o, ok := argo.OwnerOf(a); ok {
		return owned(a, o)
	}
	// Other tools set this label too, so the Application that it names is asked.
	if name := argo.LabelParent(a); name != "" {
		p := &part{object: receipt.Object{Namespace: a.Metadata.Namespace, Name: name}}
		if err := v.readOne(ctx, p); err != nil {
			return err
		}
		if p.app != nil && argo.Holds(p.app, a) {
			return owned(a, argo.Owner{Kind: argo.KindApplication, Namespace: a.Metadata.Namespace, Name: name, How: "by the label " + argo.InstanceLabel})
		}
	}
	if err := v.fenced(a); err != nil {
		return err
	}
	if len(a.Spec.SourceHydrator) > 0 {
		return &lifecycle.Error{Op: "deliver", On: a.String(), Class: lifecycle.ErrSource,
			Err: fmt.Errorf("%w: it has a sourceHydrator, which writes commits of its own", ErrLayout), Advice: "Use spec.source with the overlay's folder."}
	}
	return nil
}

// open wants no sync window to keep the Application from being synced. One that
// lets manual syncs pass is no obstacle: Wait asks for an operation.
func (v *delivery) open(ctx context.Context, p *part) error {
	a := v.asks(p)
	name := orDefault(a.Spec.Project, "default")
	project, known := v.projects[name]
	if !known {
		var err error
		if project, err = v.client.Project(ctx, v.layout.Namespace, name); err != nil {
			if isNotFound(err) && (!p.direct || v.prepared(argo.KindProject, v.layout.Namespace, name)) {
				return nil // the delivery may bring it, or the preparation does
			}
			return explain("read", "AppProject "+v.layout.Namespace+"/"+name, err)
		}
		v.projects[name] = project
	}
	windows := project.Spec.SyncWindows
	if v.onlyLooks() {
		windows = slices.DeleteFunc(slices.Clone(windows), v.swept)
	}
	closed := argo.Blocking(windows, a, v.client.Now())
	if closed == nil || closed.Manual {
		return nil
	}
	return &lifecycle.BlockedError{
		Reason: fmt.Sprintf("%s cannot be synced: %s", p, closed.Reason), Until: closed.Until,
		Next: "Deliver when it is over, or look at the windows: argocd proj windows list " + name,
	}
}

// swept says whether a window is of a lease of the same target: who acquires the
// lease, as a delivery does before it writes, ends what earlier holders left.
func (v *delivery) swept(w argo.Window) bool {
	m, err := w.Mark()
	return err == nil && m != nil && m.Target == v.r.Target
}
