package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/receipt"
)

// DefaultKeep is how many of the newest receipts keep their images where a
// request does not say.
const DefaultKeep = 10

// UsedImages says what counts as a use of an image in the target's folder of the
// registry: that a receipt names its digest.
type UsedImages struct {
	// Keep is how many of the newest receipts count, beside the applied and the
	// live one. The default is DefaultKeep.
	Keep int
	// Images are names of images whose repositories are looked through, beside
	// those that any receipt names: the catalogue's.
	Images []string
	// Sharing are the other targets whose images are in the same folder of the
	// registry. What their receipts name counts in the same way.
	Sharing []*Lifecycle
}

// UnusedImage is something in the registry that no receipt that counts names.
type UnusedImage struct {
	StoredImage
	Name       string // of the image
	Repository string // where builders push to
}

// Reference is the image by its digest.
func (u UnusedImage) Reference() string { return u.Repository + "@" + string(u.Digest) }

// Built says whether all of it is Pharos's own: an image that Pharos built, and
// no tag but the one that it is found by.
func (u UnusedImage) Built() bool {
	return u.Fingerprint != "" && !slices.ContainsFunc(u.Tags, func(tag string) bool { return tag != FingerprintTag(u.Fingerprint) })
}

// UnusedImages lists what the registry holds of the target's images and no
// receipt that counts names, by repository and digest. An image that was built
// and not delivered is among them. It writes nothing.
//
// Errors are those of [Lifecycle.Status]. A receipt that counts and cannot be
// read is one, since it is not known what it names.
func (l *Lifecycle) UnusedImages(ctx context.Context, r UsedImages) ([]UnusedImage, error) {
	found, _, err := l.sortOut(ctx, r)
	return found, TargetError(err)
}

// uses is what receipts say of the images.
type uses struct {
	by    map[Digest]string // what names a digest: "the live receipt 3f2a9c of target devbox"
	names map[string]bool   // of all images that any receipt names
	// delivered says that the target itself has an applied receipt.
	delivered bool
}

// sortOut lists what is not used, and by what everything else is.
func (l *Lifecycle) sortOut(ctx context.Context, r UsedImages) ([]UnusedImage, uses, error) {
	u := uses{by: map[Digest]string{}, names: map[string]bool{}}
	for _, name := range r.Images {
		u.names[name] = true
	}
	for _, other := range append([]*Lifecycle{l}, r.Sharing...) {
		if err := other.addUses(ctx, l, cmp.Or(max(r.Keep, 0), DefaultKeep), &u); err != nil {
			return nil, u, err
		}
	}
	var unused []UnusedImage
	for _, name := range sortedKeys(u.names) {
		repository := l.Push + "/" + name
		stored, err := l.Registry.List(ctx, repository)
		if err != nil {
			return nil, u, err
		}
		for _, s := range stored {
			if u.by[s.Digest] != "" || l.isPart(s, stored, u) {
				continue
			}
			unused = append(unused, UnusedImage{StoredImage: s, Name: name, Repository: repository})
		}
	}
	return unused, u, nil
}

// isPart says whether something is the image of a platform that an index names
// which is used.
func (l *Lifecycle) isPart(s StoredImage, stored []StoredImage, u uses) bool {
	return slices.ContainsFunc(stored, func(other StoredImage) bool {
		return u.by[other.Digest] != "" && slices.Contains(other.Parts, s.Digest)
	})
}

func sortedKeys(m map[string]bool) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// addUses adds what the target's receipts name, to the uses of a target. All of
// them are read, for the names of images that are in no catalogue any more.
func (l *Lifecycle) addUses(ctx context.Context, of *Lifecycle, keep int, u *uses) error {
	pointers, err := l.Receipts.Pointers(ctx)
	if err != nil {
		return fmt.Errorf("read the pointers of target %q: %w", l.Target, err)
	}
	u.delivered = u.delivered || l == of && pointers.Applied != ""
	if pointers.Version == "" {
		gone, err := l.pointersGone(ctx)
		if err = cmp.Or(err, gone); err != nil {
			return fmt.Errorf("read the pointers of target %q: %w", l.Target, err)
		}
	}
	list, err := l.Receipts.List(ctx)
	if err != nil {
		return fmt.Errorf("list the receipts of target %q: %w", l.Target, err)
	}
	ids := make([]receipt.ID, len(list))
	for i, summary := range list {
		ids[i] = summary.ID
	}
	for _, id := range []receipt.ID{pointers.Applied, pointers.Live} {
		if id != "" && !slices.Contains(ids, id) {
			return fmt.Errorf("%w: the pointers of target %q name receipt %s, which is gone: it is not known what it uses", receipt.ErrCorrupt, l.Target, id.Short())
		}
	}
	records := make([]*receipt.Record, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i, id := range ids {
		counts := i < keep || id == pointers.Applied || id == pointers.Live
		g.Go(func() error {
			record, err := l.Receipts.Get(gctx, id)
			if err == nil {
				records[i] = &record
			}
			if err == nil || unusable(err) && !counts {
				return nil
			}
			return fmt.Errorf("read receipt %s of target %q: %w", id.Short(), l.Target, err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, record := range records {
		if record == nil {
			continue
		}
		which := ""
		switch {
		case ids[i] == pointers.Applied:
			which = "the applied receipt"
		case ids[i] == pointers.Live:
			which = "the live receipt"
		case i < keep:
			which = "receipt"
		}
		u.add(record, which, fmt.Sprintf("%s of target %s", ids[i].Short(), l.Target))
	}
	return nil
}

// add adds what a record names; it counts as a use unless which is empty.
func (u *uses) add(record *receipt.Record, which, id string) {
	for _, img := range record.Images {
		u.names[img.Name] = true
		if which == "" {
			continue
		}
		digests := []string{img.Digest}
		for _, base := range img.Bases {
			if _, digest, ok := strings.Cut(base, "@"); ok {
				digests = append(digests, digest)
			}
		}
		for _, d := range digests {
			if u.by[Digest(d)] == "" {
				u.by[Digest(d)] = which + " " + id
			}
		}
	}
}
