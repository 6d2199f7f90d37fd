package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/keys"
)

// unknownDigest stands in a preview for the digest of an image that is not known.
// No container runtime takes it for a digest.
const unknownDigest = "sha256:unknown"

// PreviewRequest is a tree to render as it would be delivered to a target,
// without the target.
type PreviewRequest struct {
	Tree source.Tree
	// Commit is the ID of the commit that the tree is of; empty if it is of none.
	Commit source.ID
	// Target is the target's name, and Overlay the folder of its kustomization in
	// the tree. Both are required.
	Target, Overlay string
	// Push and Pull are the repositories' common prefix, as of Config. Push is
	// required; the default of Pull is Push.
	Push, Pull string
	// Renderer renders. Required.
	Renderer Renderer
	// Registry is asked for the images, by their fingerprints. Nil asks nobody, so
	// that no digest is known.
	Registry Registry
}

// Preview is a rendered overlay, and the images that it is of.
type Preview struct {
	// Rendering is as of a Renderer. Objects that name an image without a known
	// digest have the digest "sha256:unknown" in its place, and an annotation that
	// says so and for which every API server refuses the object: it cannot be
	// applied by accident.
	Rendering
	// Images are all images of the catalogue, in its order.
	Images []ImageStatus
}

// Unknown are the names of the images whose digest is not known, in the
// catalogue's order.
func (p Preview) Unknown() []string {
	var names []string
	for _, i := range p.Images {
		if i.Digest == "" {
			names = append(names, i.Name)
		}
	}
	return names
}

// NewPreview renders a tree as it would be delivered. It asks nobody but the
// request's registry, and writes nothing. Errors match ErrSource for what a commit
// has to mend, and ErrUnreachable for the registry.
func NewPreview(ctx context.Context, r PreviewRequest) (Preview, error) {
	var missing []error
	require := func(ok bool, field string) {
		if !ok {
			missing = append(missing, fmt.Errorf("lifecycle: PreviewRequest.%s is required", field))
		}
	}
	require(r.Target != "", "Target")
	require(r.Overlay != "", "Overlay")
	require(r.Push != "", "Push")
	require(r.Renderer != nil, "Renderer")
	if err := errors.Join(missing...); err != nil {
		return Preview{}, err
	}
	if r.Pull == "" {
		r.Pull = r.Push
	}
	l := &Lifecycle{Config{
		Target: r.Target, Overlay: r.Overlay, Push: r.Push, Pull: r.Pull, Renderer: r.Renderer, Registry: r.Registry,
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}}
	commit := source.Commit{ID: r.Commit, Tree: r.Tree}
	if r.Registry != nil {
		return l.preview(ctx, commit, &situation{})
	}
	c, err := catalogue.Load(ctx, r.Tree)
	if err != nil {
		return Preview{}, &Error{Op: "read", On: catalogue.FileName, Class: ErrSource, Err: err}
	}
	var images []*image
	for _, i := range c.Images {
		images = append(images, &image{state: catalogue.State{Image: i}, status: ImageStatus{
			Name: i.Name, Repository: l.Pull + "/" + i.Name, Reason: "nobody was asked",
		}})
	}
	return l.previewOf(ctx, commit, images)
}

// Preview renders a commit as it would be delivered now, with the digests of the
// images that receipts or the registry know. It writes nothing. Errors are those
// of Reconcile.
func (l *Lifecycle) Preview(ctx context.Context, commit source.Commit) (Preview, error) {
	s, err := l.assess(ctx)
	if err != nil {
		return Preview{}, TargetError(err)
	}
	p, err := l.preview(ctx, commit, s)
	return p, TargetError(err)
}

func (l *Lifecycle) preview(ctx context.Context, commit source.Commit, s *situation) (Preview, error) {
	w, err := l.want(ctx, commit)
	if err != nil {
		return Preview{}, err
	}
	images, err := l.findImages(ctx, w.states, s)
	if err != nil {
		return Preview{}, err
	}
	for _, i := range images {
		if i.status.Build() && i.status.Reason == "" {
			i.status.Reason = "it has to be built"
		}
	}
	return l.previewOf(ctx, commit, images)
}

func (l *Lifecycle) previewOf(ctx context.Context, commit source.Commit, images []*image) (Preview, error) {
	o := l.begin(string(commit.ID), nil)
	rendering, err := o.render(ctx, commit.Tree, images)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Rendering: rendering, Images: imageStatuses(images)}
	p.Objects = slices.Clone(p.Objects)
	for i := range p.Objects {
		if p.Objects[i].JSON, err = withoutZeros(p.Objects[i].JSON, p.Images); err != nil {
			return Preview{}, fmt.Errorf("%s %s: %w", p.Objects[i].Kind, p.Objects[i].Name, err)
		}
	}
	return p, nil
}

// withoutZeros puts the placeholder that cannot be applied in the place of the
// one that stands in renderings.
func withoutZeros(doc []byte, images []ImageStatus) ([]byte, error) {
	var unknown []string
	for _, i := range images {
		ref := []byte(i.Repository + "@" + string(notBuiltYet))
		if i.Digest == "" && bytes.Contains(doc, ref) {
			doc = bytes.ReplaceAll(doc, ref, []byte(i.Repository+"@"+unknownDigest))
			unknown = append(unknown, i.Name)
		}
	}
	if unknown == nil {
		return doc, nil
	}
	return annotated(doc, keys.NotToBeApplied, "the digest is not known of "+strings.Join(unknown, ", "))
}
