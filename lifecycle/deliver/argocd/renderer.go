package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// maxDepth is how deep Applications may declare Applications.
const maxDepth = 8

// ErrLayout is matched by the errors of what a commit declares in a way that
// cannot be delivered through Argo CD at an exact commit.
var ErrLayout = errors.New("cannot be delivered through Argo CD")

// Renderer renders what Argo CD will deliver at a commit: the overlay of each
// Application, and what has to be set in the Applications for it. It reads the
// tree alone. It is safe for concurrent use.
type Renderer struct {
	layout Layout
	inner  lifecycle.Renderer
}

var _ lifecycle.Renderer = (*Renderer)(nil)

// NewRenderer returns a renderer of the layout's Applications. Each overlay is
// rendered by inner.
func NewRenderer(l Layout, inner lifecycle.Renderer) (*Renderer, error) {
	l, err := l.resolve()
	if inner == nil {
		err = errors.Join(err, errors.New("argocd: the renderer of overlays is missing"))
	}
	if err != nil {
		return nil, err
	}
	return &Renderer{layout: l, inner: inner}, nil
}

// ID is the inner renderer's, named together with Argo CD: "kustomize+argocd".
func (r *Renderer) ID() receipt.Renderer {
	id := r.inner.ID()
	id.Name += "+argocd"
	return id
}

// Render renders the overlay of each Application of the layout and, where that
// declares Applications of the same repository, theirs too, all from the same
// tree and with the same images. The declared ones are rendered as they will be:
// pointed at the commit.
//
// For each Application of the layout there is an object that holds only what
// Pharos sets in it: see the package comment.
//
// The errors are those of the inner renderer. What cannot be delivered in this
// way matches ErrLayout and lifecycle.ErrSource.
func (r *Renderer) Render(ctx context.Context, req lifecycle.RenderRequest) (lifecycle.Rendering, error) {
	w := &walk{Renderer: r, request: req, used: map[string]bool{}, reads: map[string]bool{}, owner: map[objectKey]string{}}
	var errs []error
	for _, p := range r.layout.Applications {
		name := argo.Name(r.layout.Namespace, p.Name)
		var sources []any
		for _, folder := range p.Paths {
			src, err := w.overlay(ctx, name, folder, "", nil)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			sources = append(sources, map[string]any(src))
		}
		o, err := w.pointer(p.Name, sources)
		errs = append(errs, err)
		w.objects = append(w.objects, o)
	}
	if err := errors.Join(errs...); err != nil {
		return lifecycle.Rendering{}, err
	}
	return w.rendering(), nil
}

type objectKey struct{ group, kind, namespace, name string }

// walk is one call of Render.
type walk struct {
	*Renderer
	request  lifecycle.RenderRequest
	objects  []lifecycle.Object
	reads    map[string]bool
	findings []lifecycle.Finding
	used     map[string]bool // by the image's name
	owner    map[objectKey]string
}

// overlay renders a folder for an Application, and returns what its source has
// to be set to.
func (w *walk) overlay(ctx context.Context, app, folder, namespace string, above []string) (argo.Source, error) {
	if slices.Contains(above, folder) || len(above) == maxDepth {
		return nil, w.refuse(app, fmt.Sprintf("its overlay %s declares an Application of itself, or they are more than %d deep", folder, maxDepth),
			"Give each Application a folder of its own.")
	}
	above = append(slices.Clone(above), folder)
	req := w.request
	req.Overlay = folder
	rendering, err := w.inner.Render(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, p := range rendering.Reads {
		w.reads[p] = true
	}
	w.findings = append(w.findings, rendering.Findings...)

	src := argo.Source{"repoURL": w.layout.Repository, "path": folder, "targetRevision": string(w.request.Commit)}
	var patches []any
	var errs []error
	for _, o := range rendering.Objects {
		o.Namespace, o.By = orDefault(o.Namespace, namespace), app
		k := objectKey{o.Group, o.Kind, o.Namespace, o.Name}
		if other, taken := w.owner[k]; taken {
			errs = append(errs, w.refuse(app, fmt.Sprintf("it declares %s, and so does %s", objectName(o), other), "Declare each object in one overlay only."))
			continue
		}
		w.owner[k] = app
		errs = append(errs, w.refuseOnce(app, o))
		if isApplication(o.Group, o.Kind) {
			patch, err := w.child(ctx, app, &o, above)
			errs = append(errs, err)
			if patch != nil {
				patches = append(patches, patch)
			}
		}
		if o.Group == argo.Group && o.Kind == argo.KindSet {
			w.findings = append(w.findings, lifecycle.Finding{Subject: objectName(o),
				Message: "its Applications are not pointed at the commit, and not waited for: they follow the revision of its template"})
		}
		w.objects = append(w.objects, o)
	}
	k, err := w.kustomize(rendering.Objects, patches)
	errs = append(errs, err)
	src["kustomize"] = k
	return src, errors.Join(errs...)
}

// kustomize is what the source of an overlay has to be set to: the images that
// its objects use, the target's labels, and patches.
func (w *walk) kustomize(objects []lifecycle.Object, patches []any) (map[string]any, error) {
	k := map[string]any{}
	var images []any
	for _, i := range w.request.Images {
		ref := i.Repository + "@" + string(i.Digest)
		if !uses(objects, ref) {
			continue
		}
		w.used[i.Name] = true
		images = append(images, i.Name+"="+ref)
	}
	if images != nil {
		k["images"] = images
	}
	if len(w.request.Labels) > 0 {
		labels := map[string]any{}
		for name, value := range w.request.Labels {
			labels[name] = value
		}
		// Force, since the overlay may set the label itself.
		k["commonLabels"], k["labelWithoutSelector"], k["forceCommonLabels"] = labels, true, true
	}
	if patches != nil {
		k["patches"] = patches
	}
	return k, nil
}

func (w *walk) rendering() lifecycle.Rendering {
	out := lifecycle.Rendering{Objects: w.objects}
	for p := range w.reads {
		out.Reads = append(out.Reads, p)
	}
	slices.Sort(out.Reads)
	for _, f := range w.findings {
		// Each overlay was asked about all images.
		if name, ok := strings.CutPrefix(f.Subject, "image "); ok && w.used[name] || slices.Contains(out.Findings, f) {
			continue
		}
		out.Findings = append(out.Findings, f)
	}
	return out
}

func (w *walk) refuse(app, why, advice string) error {
	return &lifecycle.Error{Op: "render", On: app, Class: lifecycle.ErrSource, Err: fmt.Errorf("%w: %s", ErrLayout, why), Advice: advice}
}

// refuseOnce refuses a Job that is to run once. Argo CD does not know that it has
// run, and makes it again whenever it is gone: with self-heal and a TTL, over and
// over.
func (w *walk) refuseOnce(app string, o lifecycle.Object) error {
	value, ok, err := objectjson.Annotation(o.JSON, keys.RunOnce)
	if err != nil {
		return w.refuse(app, fmt.Sprintf("%s: %v", objectName(o), err), "")
	}
	if !ok || value == "false" {
		return nil
	}
	return w.refuse(app, fmt.Sprintf("%s has the annotation %s, which Argo CD cannot keep: it runs the Job again whenever that is gone", objectName(o), keys.RunOnce),
		"Make it a hook, which runs at each sync: argocd.argoproj.io/hook: Sync. Or deliver with deliver: {apply: {}}.")
}

// pointer is the object that holds what is set in an Application of the layout.
func (w *walk) pointer(name string, sources []any) (lifecycle.Object, error) {
	o := lifecycle.Object{Group: argo.Group, Version: argo.Version, Kind: argo.KindApplication, Namespace: w.layout.Namespace, Name: name}
	if app, declared := w.owner[objectKey{o.Group, o.Kind, o.Namespace, o.Name}]; declared {
		return o, w.refuse(argo.Name(o.Namespace, o.Name), "the overlay of "+app+" declares it, and would put it back",
			"Leave it out of the overlay: it is set up once, by kubectl pharos deploy.")
	}
	spec := map[string]any{"sources": sources}
	if len(sources) == 1 {
		spec = map[string]any{"source": sources[0]}
	}
	metadata := map[string]any{"namespace": o.Namespace, "name": name}
	if target := w.request.Labels[keys.Target]; target != "" {
		metadata["labels"] = map[string]any{keys.Target: target}
	}
	raw, err := objectjson.Encode(map[string]any{
		"apiVersion": argo.Group + "/" + argo.Version, "kind": argo.KindApplication, "metadata": metadata, "spec": spec,
	})
	o.JSON = raw
	return o, err
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

func objectName(o lifecycle.Object) string {
	return lifecycle.ObjectName(receipt.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
}
