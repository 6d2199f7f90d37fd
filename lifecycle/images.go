package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	// found says that it was found by its fingerprint: no receipt of the target
	// names it.
	found bool
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

const (
	// askJobs is how many images the registry is asked for at once, with one
	// request each.
	askJobs = 128
	// verifyJobs is how many images are read at once with all their parts.
	verifyJobs = 8
)

// findImages asks the registry for every image, all at once: one HEAD request
// for an image that a receipt knows, a look by the fingerprint where none does.
func (l *Lifecycle) findImages(ctx context.Context, states []catalogue.State, s *situation) ([]*image, error) {
	images := make([]*image, len(states))
	for i, st := range states {
		images[i] = &image{state: st, platforms: st.Image.Platforms, bases: st.Bases, status: ImageStatus{
			Name: st.Image.Name, Fingerprint: st.Fingerprint, Repository: l.Pull + "/" + st.Image.Name,
		}}
	}
	for _, img := range images {
		for _, name := range img.state.Dependencies {
			on := slices.IndexFunc(images, func(i *image) bool { return i.status.Name == name })
			if on < 0 {
				return nil, fmt.Errorf("image %q is built on %q, which is not in the catalogue", img.status.Name, name)
			}
			img.on = append(img.on, images[on])
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(askJobs)
	for _, img := range images {
		g.Go(func() error { return l.findImage(ctx, img, s) })
	}
	return images, g.Wait()
}

// findImage looks for the image in the registry. A receipt was written only when
// the index had all of the recipe's platforms, and the digest says that it still
// is that index: what a receipt knows need only be there.
func (l *Lifecycle) findImage(ctx context.Context, img *image, s *situation) error {
	known, which := knownImage(img, s)
	if known == nil {
		return l.findByFingerprint(ctx, img)
	}
	if missing := without(known.Platforms, img.platforms); len(missing) > 0 {
		img.status.Reason = "the image of the " + which + " receipt misses " + strings.Join(missing, ", ")
		return nil
	}
	err := l.Registry.Has(ctx, img.push(l), Digest(known.Digest))
	switch {
	case errors.Is(err, ErrImageNotFound):
		img.status.Reason = fmt.Sprintf("the registry lost %s@%s", img.push(l), known.Digest)
		return nil
	case err != nil:
		return err
	}
	img.toolchain, img.known = known.Toolchain, known
	img.status.Digest, img.status.Reason = Digest(known.Digest), "same fingerprint as in the "+which+" receipt"
	return nil
}

func (l *Lifecycle) findByFingerprint(ctx context.Context, img *image) error {
	found, err := l.Registry.Find(ctx, img.push(l), img.state.Fingerprint)
	switch {
	case errors.Is(err, ErrImageNotFound):
		return nil // decide says why
	case err != nil:
		return err
	}
	if missing := without(found.Platforms, img.platforms); len(missing) > 0 {
		img.status.Reason = "the registry's image misses " + strings.Join(missing, ", ")
		return nil
	}
	img.toolchain, img.found = found.Toolchain, true
	img.status.Digest, img.status.Reason = found.Digest, "the registry has an image of this fingerprint"
	return nil
}

// confirmImages asks for the index of every image once more, right before a
// record names them: since they were found or built, somebody may have deleted
// one, for which the target's lease is needed too.
func (o *operation) confirmImages(ctx context.Context, images []*image) error {
	errs := make([]error, len(images))
	var g errgroup.Group
	g.SetLimit(askJobs)
	for i, img := range images {
		g.Go(func() error {
			errs[i] = o.Registry.Has(ctx, img.push(o.Lifecycle), img.status.Digest)
			if errors.Is(errs[i], ErrImageNotFound) {
				errs[i] = &Error{Op: "deliver", On: "image " + img.status.Name, Class: ErrUnreachable,
					Err: fmt.Errorf("the registry had it a moment ago: %w", errs[i]), Advice: "Run the same command again: it is built anew."}
			}
			if errs[i] == nil && img.found {
				errs[i] = o.keepImage(ctx, img, img.status.Digest)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are all in the list
	return errors.Join(errs...)
}

// keepImage has an image keep a tag of its own. Where the builders alone may push,
// the one that leads to its fingerprint has to do.
func (o *operation) keepImage(ctx context.Context, img *image, digest Digest) error {
	err := o.Registry.Keep(ctx, img.push(o.Lifecycle), digest)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrImageNotFound) {
		return err
	}
	o.Log.Warn("the image has no tag of its own, so another build of its fingerprint may leave it without any", "image", img.status.Name, "digest", digest, "err", err)
	return nil
}

// verifyImages asks for every part of the images that receipts know, and has
// those built again that the registry does not have all of. It returns the
// reasons. What was found by its fingerprint is verified already.
func (l *Lifecycle) verifyImages(ctx context.Context, images []*image) ([]string, error) {
	reasons := make([]string, len(images))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(verifyJobs)
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

// without returns those of the wanted platforms that are not among others.
func without(have, wanted []string) []string {
	var missing []string
	for _, p := range wanted {
		if !slices.Contains(have, p) {
			missing = append(missing, p)
		}
	}
	return missing
}

func imageRefs(images []*image) []ImageRef {
	refs := make([]ImageRef, len(images))
	for i, img := range images {
		isBase := slices.ContainsFunc(images, func(other *image) bool { return slices.Contains(other.on, img) })
		refs[i] = ImageRef{
			Name: img.status.Name, Repository: img.status.Repository, Digest: img.status.Digest,
			Base: isBase, Artifact: img.state.Image.Build.Artifact(),
		}
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
