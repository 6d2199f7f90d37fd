package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

const op = "render overlay"

// Renderer renders kustomize overlays. It is safe for concurrent use. The zero
// value is ready, and keeps nothing.
type Renderer struct{ cache *Cache }

var _ lifecycle.Renderer = (*Renderer)(nil)

// Option changes what New returns.
type Option func(*Renderer)

// WithCache has the renderer keep what it renders in a cache, which renderers
// may share. The default keeps nothing.
func WithCache(c *Cache) Option { return func(r *Renderer) { r.cache = c } }

// New returns a renderer.
func New(options ...Option) *Renderer {
	r := &Renderer{}
	for _, o := range options {
		o(r)
	}
	return r
}

// ID names the renderer: "kustomize", and the version of kustomize's API
// module, such as "v0.21.2".
func (*Renderer) ID() receipt.Renderer { return id() }

// Render renders the overlay from the tree alone: it reads no other file and
// opens no connection.
//
// Its error is a *lifecycle.Error. If the commit is at fault it matches
// lifecycle.ErrSource and holds a *Problem for each thing that is wrong, which
// match this package's sentinels; an overlay or a file that is not there
// matches source.ErrNotFound. When ctx ends, the error matches ctx's; what
// kustomize is computing at that moment is finished first.
func (c *Renderer) Render(ctx context.Context, r lifecycle.RenderRequest) (lifecycle.Rendering, error) {
	overlay, err := checkRequest(r)
	if err != nil {
		return lifecycle.Rendering{}, &lifecycle.Error{Op: op, On: r.Overlay, Err: err}
	}
	if c.cache == nil {
		rendering, _, err := render(ctx, overlay, r)
		return rendering, err
	}
	key := keyOf(overlay, r)
	if rendering, ok := c.cache.find(ctx, key, r.Tree); ok {
		return rendering, nil
	}
	rendering, tr, err := render(ctx, overlay, r)
	if err == nil {
		c.cache.add(key, tr, rendering)
	}
	return rendering, err
}

// render renders, and returns what was asked of the tree.
func render(ctx context.Context, overlay string, r lifecycle.RenderRequest) (lifecycle.Rendering, trace, error) {
	fail := func(class, err error, advice string) (lifecycle.Rendering, trace, error) {
		return lifecycle.Rendering{}, nil, &lifecycle.Error{Op: op, On: r.Overlay, Class: class, Err: err, Advice: advice}
	}
	t := newTree(ctx, r.Tree)
	commitFault := func(err error, advice string) (lifecycle.Rendering, trace, error) {
		if t.broken != nil {
			return fail(nil, t.broken, "")
		}
		return fail(lifecycle.ErrSource, err, advice)
	}

	at, err := t.resolve(overlay)
	if err != nil {
		if errors.Is(err, source.ErrNotFound) {
			return commitFault(fmt.Errorf("the commit has no such folder: %w", source.ErrNotFound), nearby(t, overlay))
		}
		return commitFault(err, adviceFor(err))
	}
	if !at.isDir() {
		return commitFault(errors.New("is a file: an overlay is a folder with a kustomization"), "")
	}
	s := newScanner(t, r.Images)
	if err := s.scan(at.path); err != nil {
		return commitFault(err, adviceFor(err))
	}

	top, err := topKustomization(overlay, r)
	if err != nil {
		return fail(nil, err, "")
	}
	resources, err := build(ctx, &fileSystem{tree: t, top: top}, s.schema)
	if err != nil {
		if ctx.Err() != nil {
			return fail(nil, ctx.Err(), "")
		}
		err = s.explain(err)
		return commitFault(err, adviceFor(err))
	}
	if t.broken != nil {
		return fail(nil, t.broken, "")
	}
	objects, images, secrets, err := convert(resources)
	if err = errors.Join(err, s.plainSecrets(at.path, secrets)); err != nil {
		return commitFault(err, adviceFor(err))
	}
	return lifecycle.Rendering{
		Objects:  objects,
		Reads:    t.sortedReads(),
		Findings: s.findings(r.Images, objects, images),
	}, t.trace(), nil
}

// checkRequest returns the overlay's clean path. What it refuses is a mistake
// of the caller, not of the commit.
func checkRequest(r lifecycle.RenderRequest) (string, error) {
	if r.Overlay == "" {
		return "", errors.New("the request names no overlay")
	}
	overlay := path.Clean(r.Overlay)
	if path.IsAbs(overlay) || overlay == ".." || strings.HasPrefix(overlay, "../") {
		return "", fmt.Errorf("the overlay must be a path inside the tree: %w", ErrOutside)
	}
	names := map[string]bool{}
	for _, image := range r.Images {
		if names[image.Name] {
			return "", fmt.Errorf("image %q stands twice in the request", image.Name)
		}
		names[image.Name] = true
	}
	for _, image := range r.Images {
		switch {
		case image.Name == "" || image.Repository == "":
			return "", fmt.Errorf("image %q has no name or no repository", image.Name)
		case !digest.MatchString(string(image.Digest)):
			return "", fmt.Errorf("image %q: %q is not a digest: want sha256: and 64 hexadecimal digits", image.Name, image.Digest)
		case names[image.Repository] && image.Repository != image.Name:
			// kustomize replaces one image after the other, so it would
			// replace the replacement.
			return "", fmt.Errorf("image %q is pulled from %q, which is another image's name", image.Name, image.Repository)
		}
	}
	return overlay, nil
}
