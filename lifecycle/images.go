package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/receipt"
)

// image is an image on its way into a record.
type image struct {
	state     catalogue.State
	status    ImageStatus
	platforms []string
	bases     []string
	toolchain string
	// on are the catalogue's images that it is built on, in the order of
	// state.Dependencies, and known is what a receipt says of it.
	on    []*image
	known *receipt.Image
}

func (i *image) push(l *Lifecycle) string { return l.Push + "/" + i.state.Image.Name }

// allBases are the references by digest of all that the image was built on,
// sorted. The image of a receipt was built on what stands there: a base that the
// registry lost may have been built again with another digest.
func (i *image) allBases() []string {
	all := slices.Clone(i.bases)
	for _, base := range i.on {
		ref := base.status.Repository + "@" + string(base.status.Digest)
		if i.known != nil {
			from := func(known string) bool { return strings.HasPrefix(known, base.status.Repository+"@") }
			if k := slices.IndexFunc(i.known.Bases, from); k >= 0 {
				ref = i.known.Bases[k]
			}
		}
		all = append(all, ref)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// findImages asks the registry for every image, all at once: one request for an
// image that a receipt knows, one more where none does.
func (l *Lifecycle) findImages(ctx context.Context, states []catalogue.State, s *situation) ([]*image, error) {
	images := make([]*image, len(states))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i, st := range states {
		img := &image{state: st, platforms: st.Image.Platforms, bases: st.Bases, status: ImageStatus{
			Name: st.Image.Name, Fingerprint: st.Fingerprint, Repository: l.Pull + "/" + st.Image.Name,
		}}
		images[i] = img
	}
	for _, img := range images {
		for _, name := range img.state.Dependencies {
			on := slices.IndexFunc(images, func(i *image) bool { return i.status.Name == name })
			if on < 0 {
				return nil, fmt.Errorf("image %q is built on %q, which is not in the catalogue", img.status.Name, name)
			}
			img.on = append(img.on, images[on])
		}
		g.Go(func() error { return l.findImage(ctx, img, s) })
	}
	return images, g.Wait()
}

func (l *Lifecycle) findImage(ctx context.Context, img *image, s *situation) error {
	known, which := knownImage(img, s)
	if known != nil {
		found, err := l.Registry.Lookup(ctx, img.push(l), Digest(known.Digest))
		switch {
		case errors.Is(err, ErrImageNotFound):
			img.status.Reason = fmt.Sprintf("the registry lost %s@%s", img.push(l), known.Digest)
			return nil
		case err != nil:
			return err
		}
		if missing := missingPlatforms(img, found); len(missing) > 0 {
			img.status.Reason = "the registry's image misses " + strings.Join(missing, ", ")
			return nil
		}
		img.toolchain, img.known = known.Toolchain, known
		img.status.Digest, img.status.Reason = found.Digest, "same fingerprint as in the "+which+" receipt"
		return nil
	}
	found, err := l.Registry.Find(ctx, img.push(l), img.state.Fingerprint)
	switch {
	case errors.Is(err, ErrImageNotFound):
		return nil // decide says why
	case err != nil:
		return err
	}
	if missing := missingPlatforms(img, found); len(missing) > 0 {
		img.status.Reason = "the registry's image misses " + strings.Join(missing, ", ")
		return nil
	}
	img.toolchain = found.Toolchain
	img.status.Digest, img.status.Reason = found.Digest, "the registry has an image of this fingerprint"
	return nil
}

// verifyImages asks for every part of the images that receipts know, and has
// those built again that the registry does not have all of. It returns the
// reasons. What was found by its fingerprint is verified already.
func (l *Lifecycle) verifyImages(ctx context.Context, images []*image) ([]string, error) {
	reasons := make([]string, len(images))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, img := range images {
		if img.known == nil || img.status.Build() {
			continue
		}
		g.Go(func() error {
			_, err := l.Registry.Verify(ctx, img.push(l), img.status.Digest)
			if !errors.Is(err, ErrImageNotFound) {
				return err
			}
			img.status.Digest, img.known = "", nil
			img.status.Reason = "the registry lost a part of it"
			if e, ok := errors.AsType[*Error](err); ok {
				img.status.Reason += ": " + e.Err.Error()
			}
			reasons[i] = fmt.Sprintf("image %s has to be built: %s", img.status.Name, img.status.Reason)
			return nil
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(reasons, func(r string) bool { return r == "" }), err
}

// knownImage looks for an image of the same fingerprint in the receipts.
func knownImage(img *image, s *situation) (*receipt.Image, string) {
	for _, r := range []struct {
		record *receipt.Record
		which  string
	}{{s.live, "live"}, {s.applied, "applied"}} {
		if r.record == nil {
			continue
		}
		for i := range r.record.Images {
			known := &r.record.Images[i]
			if known.Fingerprint == string(img.state.Fingerprint) && known.Repository == img.status.Repository {
				return known, r.which
			}
		}
	}
	return nil, ""
}

func missingPlatforms(img *image, found RegistryImage) []string {
	var missing []string
	for _, p := range img.platforms {
		if !slices.Contains(found.Platforms, p) {
			missing = append(missing, p)
		}
	}
	return missing
}

// changedSince says what differs from the image of that name in the applied
// receipt.
func changedSince(img *image, s *situation, changes []PathChange) string {
	if s.unknown() != nil {
		return "the registry has no image of this fingerprint"
	}
	if s.applied == nil {
		return "it was never built"
	}
	i := slices.IndexFunc(s.applied.Images, func(k receipt.Image) bool { return k.Name == img.status.Name })
	if i < 0 {
		return "it is new in the catalogue"
	}
	changed := changedKeys(s.applied.Images[i].Preimage, img.state.Preimage)
	if len(changed) == 0 {
		return "the registry has no image of this fingerprint"
	}
	if tree := slices.Index(changed, "tree"); tree >= 0 {
		own := slices.DeleteFunc(slices.Clone(changes), func(c PathChange) bool { return !slices.Contains(c.Images, img.status.Name) })
		changed[tree] = "its inputs (" + firstPaths(own, 3) + ")"
		if len(own) == 0 {
			changed[tree] = "its inputs"
		}
	}
	return strings.Join(changed, ", ") + " changed"
}

// changedKeys returns the keys under which two preimages differ, sorted.
func changedKeys(before []receipt.Field, after []catalogue.Field) []string {
	old := map[string]string{}
	for _, f := range before {
		old[f.Key] = f.Value
	}
	var changed []string
	for _, f := range after {
		if v, ok := old[f.Key]; !ok || v != f.Value {
			changed = append(changed, f.Key)
		}
		delete(old, f.Key)
	}
	for key := range old {
		changed = append(changed, key)
	}
	slices.Sort(changed)
	return changed
}

// buildImages builds what has no digest yet, each image after those that it is
// built on. All or nothing: the first failure stops what has not started, and
// the others end.
func (o *operation) buildImages(ctx context.Context, r ReconcileRequest, images []*image) error {
	g, ctx := errgroup.WithContext(ctx)
	out := &lineWriters{open: r.Output}
	jobs := make(chan struct{}, o.Jobs)
	ready := make(map[*image]chan struct{}, len(images)) // closed when there is a digest
	for _, img := range images {
		ready[img] = make(chan struct{})
		if !img.status.Build() {
			o.emit(Event{Type: EventImageReused, Image: copyOf(img.status)})
			close(ready[img])
		}
	}
	for _, img := range images {
		if !img.status.Build() {
			continue
		}
		g.Go(func() error {
			for _, base := range img.on {
				if err := receive(ctx, ready[base]); err != nil {
					return err
				}
			}
			select {
			case jobs <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			defer func() { <-jobs }()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			err := o.buildImage(ctx, r, img, out.writer(img.status.Name))
			if err == nil {
				close(ready[img])
			}
			return err
		})
	}
	return g.Wait()
}

func receive(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *operation) buildImage(ctx context.Context, r ReconcileRequest, img *image, out io.Writer) error {
	start := time.Now()
	request := BuildRequest{State: img.state, Full: r.Commit.Tree, Repository: img.push(o.Lifecycle), Output: out, Images: map[string]string{}}
	for _, base := range img.on {
		request.Images[base.status.Name] = base.push(o.Lifecycle) + "@" + string(base.status.Digest)
	}
	built, err := o.Builders[img.state.Image.Build.Kind()].Build(ctx, request)
	if err != nil {
		return err
	}
	found, err := o.Registry.Verify(ctx, img.push(o.Lifecycle), built.Digest)
	if err != nil {
		return fmt.Errorf("check image %q, which was just pushed: %w", img.status.Name, err)
	}
	if missing := missingPlatforms(img, found); len(missing) > 0 {
		return &BuildError{Image: img.status.Name, Reason: "the built image misses the platforms " + strings.Join(missing, ", ")}
	}
	img.status.Digest, img.bases, img.toolchain = built.Digest, built.Bases, built.Toolchain
	o.emit(Event{Type: EventImageBuilt, Image: copyOf(img.status), Took: time.Since(start)})
	return nil
}

// lineWriters hands out a writer for each image.
type lineWriters struct {
	mu   sync.Mutex
	open func(image string) io.Writer
}

func (w *lineWriters) writer(image string) io.Writer {
	if w.open == nil {
		return io.Discard
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open(image)
}

func imageRefs(images []*image) []ImageRef {
	refs := make([]ImageRef, len(images))
	for i, img := range images {
		isBase := slices.ContainsFunc(images, func(other *image) bool { return slices.Contains(other.on, img) })
		refs[i] = ImageRef{Name: img.status.Name, Repository: img.status.Repository, Digest: img.status.Digest, Base: isBase}
	}
	return refs
}

func imageStatuses(images []*image) []ImageStatus {
	out := make([]ImageStatus, len(images))
	for i, img := range images {
		out[i] = img.status
	}
	return out
}

func copyOf[T any](v T) *T { return &v }
