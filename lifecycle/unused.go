package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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
// no tags but those of its fingerprint and its digest.
func (u UnusedImage) Built() bool {
	return u.Fingerprint != "" && !slices.ContainsFunc(u.Tags, func(tag string) bool {
		return tag != FingerprintTag(u.Fingerprint) && tag != DigestTag(u.Digest)
	})
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
	by    map[Digest]string          // what names a digest: "the live receipt 3f2a9c of target devbox"
	names map[string]bool            // of all images that any receipt names
	of    map[string]map[Digest]bool // what is used of each image, by its name
	// delivered says that the target itself has an applied receipt.
	delivered bool
}

// sortOut lists what is not used, and by what everything else is.
func (l *Lifecycle) sortOut(ctx context.Context, r UsedImages) ([]UnusedImage, uses, error) {
	u := uses{by: map[Digest]string{}, names: map[string]bool{}, of: map[string]map[Digest]bool{}}
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
		parts, err := l.partsOfUsed(ctx, repository, stored, u, u.of[name])
		if err != nil {
			return nil, u, err
		}
		for _, s := range stored {
			if u.by[s.Digest] == "" && !parts[s.Digest] {
				unused = append(unused, UnusedImage{StoredImage: s, Name: name, Repository: repository})
			}
		}
	}
	return unused, u, nil
}

// partsOfUsed are the digests of the manifests that used indexes name. An index
// that is used and that no tag leads to any more is read by its digest.
func (l *Lifecycle) partsOfUsed(ctx context.Context, repository string, stored []StoredImage, u uses, used map[Digest]bool) (map[Digest]bool, error) {
	parts, listed := map[Digest]bool{}, map[Digest]bool{}
	add := func(s StoredImage) {
		for _, part := range s.Parts {
			parts[part] = true
		}
	}
	all := true
	for _, s := range stored {
		listed[s.Digest] = true
		if u.by[s.Digest] != "" {
			add(s)
		} else {
			all = false
		}
	}
	if all {
		return parts, nil // there is nothing that could be a part
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for digest := range used {
		if listed[digest] {
			continue
		}
		g.Go(func() error {
			s, err := l.Registry.Stored(ctx, repository, digest)
			if errors.Is(err, ErrImageNotFound) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			add(s)
			return err
		})
	}
	return parts, g.Wait()
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
		id := which + " " + id
		u.use(img.Name, Digest(img.Digest), id)
		for _, base := range img.Bases {
			repository, digest, ok := strings.Cut(base, "@")
			if name, ours := strings.CutPrefix(repository, strings.TrimSuffix(img.Repository, img.Name)); ok && ours {
				u.use(name, Digest(digest), id)
			} else if ok {
				u.use("", Digest(digest), id) // of nobody's in this folder
			}
		}
	}
}

// use notes a use of a digest, of the image of a name if it is known.
func (u *uses) use(name string, d Digest, by string) {
	if u.by[d] == "" {
		u.by[d] = by
	}
	if u.of[name] == nil {
		u.of[name] = map[Digest]bool{}
	}
	u.of[name][d] = true
}
