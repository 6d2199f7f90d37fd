package lifecycle

import (
	"context"
	"errors"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

// notBuiltYet stands in a rendering for the digest of an image that has to be
// built.
const notBuiltYet Digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// render renders the overlay of a tree, once for the same images.
func (o *operation) render(ctx context.Context, tree source.Tree, images []*image) (Rendering, error) {
	refs := imageRefs(images)
	for i := range refs {
		if refs[i].Digest == "" {
			refs[i].Digest = notBuiltYet
		}
	}
	if o.rendering != nil && slices.Equal(refs, o.rendered) {
		return *o.rendering, nil
	}
	rendering, err := o.Renderer.Render(ctx, RenderRequest{Tree: tree, Commit: source.ID(o.commit), Overlay: o.Overlay, Images: refs, Labels: o.labels()})
	if err != nil {
		return Rendering{}, err
	}
	if err := o.checkReserved(rendering.Objects, nil); err != nil {
		return rendering, err
	}
	rendering.Findings = append(o.nodeFindings(), rendering.Findings...)
	if o.rendering == nil {
		o.emit(Event{Type: EventRendered, Findings: rendering.Findings})
	}
	o.rendered, o.rendering = refs, &rendering
	return rendering, nil
}

// observe is the request for a look at what a record asked for.
func (l *Lifecycle) observe(r *receipt.Record, s *situation) ObserveRequest {
	images := make([]ImageRef, len(r.Images))
	for i, img := range r.Images {
		images[i] = ImageRef{Name: img.Name, Repository: img.Repository, Digest: Digest(img.Digest)}
	}
	return ObserveRequest{Target: l.Target, Objects: r.Objects, Seen: s.seen,
		Commit: source.ID(r.Commit), Images: images, Applications: s.applications, Completed: completedOf(r.Objects, s.completed, s.liveJobs)}
}

func (o *operation) labels() map[string]string { return map[string]string{keys.Target: o.Target} }

// resolve asks the target for the objects' resources and namespaces.
func (o *operation) resolve(ctx context.Context, objects []Object) ([]receipt.Object, error) {
	resolved, err := o.Deliverer.Resolve(ctx, objects)
	if err != nil {
		return nil, err
	}
	return resolved, o.checkReserved(objects, resolved)
}

var errReserved = errors.New("the records of Pharos itself are kept there, and a delivery would overwrite them")

// checkReserved refuses objects in which Pharos keeps what it knows of targets.
// Of objects that are resolved, the namespace is the one that they really get.
func (o *operation) checkReserved(objects []Object, resolved []receipt.Object) error {
	if o.Reserved == nil {
		return nil
	}
	var errs []error
	for i, obj := range objects {
		named := receipt.Object{Group: obj.Group, Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name}
		if resolved != nil {
			named = resolved[i]
		}
		if o.Reserved(named) {
			errs = append(errs, &Error{Op: "deliver", On: ObjectName(named), Class: ErrSource, Err: errReserved,
				Advice: "Give the object of the overlay " + o.Overlay + " another name or namespace."})
		}
	}
	return errors.Join(errs...)
}
