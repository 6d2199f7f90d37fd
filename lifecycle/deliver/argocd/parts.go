package argocd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// atOnce is how many requests one call has in flight.
const atOnce = 8

// part is one Application of a delivery.
type part struct {
	object receipt.Object
	// direct says that Pharos itself writes it; others are written by the
	// Application that declares them.
	direct bool
	// declared is the object of the rendering; nil where only receipts are known.
	declared *argo.Application
	// app is the Application as it was read; nil if it does not exist.
	app *argo.Application
}

// latest is the Application as it is when the commit is synced: one of the layout
// keeps what is not set in it. Nil if that is not known.
func (p *part) latest() *argo.Application {
	if p.direct {
		return p.app
	}
	return p.declared
}

func (p *part) String() string { return argo.Name(p.object.Namespace, p.object.Name) }

// parts returns the Applications among a delivery's objects: those of the
// layout first.
func (d *Deliverer) parts(objects []receipt.Object) []*part {
	var parts []*part
	for _, o := range objects {
		if isApplication(o.Group, o.Kind) {
			parts = append(parts, &part{object: o, direct: d.layout.direct(o.Namespace, o.Name)})
		}
	}
	slices.SortStableFunc(parts, func(a, b *part) int {
		if a.direct != b.direct {
			if a.direct {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.object.Namespace, b.object.Namespace), strings.Compare(a.object.Name, b.object.Name))
	})
	return parts
}

// declare fills in what the rendering says of the parts, and wants each
// Application of the layout to be among them.
func (d *Deliverer) declare(parts []*part, r lifecycle.DeliverRequest) error {
	for _, p := range parts {
		i := slices.IndexFunc(r.Resolved, func(o receipt.Object) bool { return receipt.CompareObjects(o, p.object) == 0 })
		a, err := argo.ParseApplication(r.Objects[i].JSON)
		if err != nil {
			return &lifecycle.Error{Op: "read", On: p.String(), Class: lifecycle.ErrSource, Err: err}
		}
		a.Metadata.Namespace = p.object.Namespace
		p.declared = a
	}
	for _, l := range d.layout.Applications {
		if !slices.ContainsFunc(parts, func(p *part) bool { return p.direct && p.object.Name == l.Name }) {
			return fmt.Errorf("argocd: the objects do not say what to set in %s: they are not rendered by this package's Renderer", argo.Name(d.layout.Namespace, l.Name))
		}
	}
	return nil
}

// read reads the Applications: one request for each.
func (d *Deliverer) read(ctx context.Context, parts []*part) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range parts {
		g.Go(func() error { return d.readOne(ctx, p) })
	}
	return g.Wait()
}

func (d *Deliverer) readOne(ctx context.Context, p *part) error {
	a, err := d.client.Application(ctx, p.object.Namespace, p.object.Name)
	if apierrors.IsNotFound(err) && !strings.Contains(err.Error(), "could not find the requested resource") {
		p.app = nil
		return nil
	}
	if err != nil {
		return explain("read", p.String(), err)
	}
	p.app = a
	return nil
}

// record is what a receipt's outcome keeps of an Application.
func record(a *argo.Application) receipt.Application {
	out := receipt.Application{
		Namespace: a.Metadata.Namespace, Name: a.Metadata.Name, UID: string(a.Metadata.UID), Project: a.Spec.Project,
		Sync: a.Status.Sync.Status, Health: a.Status.Health.Status, Reconciled: a.Status.ReconciledAt.Time,
	}
	for _, r := range a.Revisions() {
		if r != "" {
			out.Revisions = append(out.Revisions, r)
		}
	}
	if s := a.Status.OperationState; s != nil {
		out.Operation, out.Message, out.Finished = s.Phase, clip(s.Message), s.FinishedAt.Time
	}
	out.Images = slices.Clone(a.Status.Summary.Images)
	slices.Sort(out.Images)
	out.Images = slices.Compact(out.Images)
	for _, c := range a.Status.Conditions {
		out.Conditions = append(out.Conditions, clip(c.Type+": "+c.Message))
	}
	return out
}

// clip makes a message fit a line of a record: some are pages.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	const enough = 1000
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return s
}

func records(parts []*part) []receipt.Application {
	var list []receipt.Application
	for _, p := range parts {
		if p.app != nil {
			list = append(list, record(p.app))
		}
	}
	return list
}

// seenOf is what is remembered of an Application: its source.
func seenOf(o receipt.Object, a *argo.Application) receipt.Seen {
	return receipt.Seen{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		UID: string(a.Metadata.UID), Owned: argo.HashSources(a.Sources())}
}

func imagesOf(refs []lifecycle.ImageRef) []string {
	var images []string
	for _, i := range refs {
		images = append(images, i.Repository+"@"+string(i.Digest))
	}
	return images
}
