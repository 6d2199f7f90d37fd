package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/lease"
)

// DeleteImagesRequest says which images to delete from the registry. Exactly one
// of Digests and Unused is set.
type DeleteImagesRequest struct {
	// UsedImages says what is used, and is never deleted.
	UsedImages
	// Digests are those to delete, whatever tags lead to them.
	Digests []Digest
	// Unused deletes all that UnusedImages lists and that is Pharos's own: see
	// UnusedImage.Built. The rest is left.
	Unused bool
	// DryRun deletes nothing, takes no lease, and returns what would be deleted.
	DryRun bool
	// Deleted is called after each image that was deleted; may be nil.
	Deleted func(UnusedImage)
}

// DeletedImages is what a call of DeleteImages did. Beside an error it holds what
// was done until then.
type DeletedImages struct {
	Deleted []UnusedImage
	// Left are unused images that are not all Pharos's own.
	Left []UnusedImage
}

// DeleteImages deletes images from the registry that no receipt that counts
// names. It holds the leases of the target and of those that share the registry
// meanwhile, in the mode deliver, and looks for uses anew when it has them: a
// delivery names an image in a receipt only under its lease, after it asked the
// registry whether the image is there.
//
// Where the target has no applied receipt, everything looks unused, in a cluster
// that is not the one that was meant for example: then Unused is a *BlockedError.
//
// A digest that is used, or that none of the target's tags lead to, is an error,
// and nothing is deleted then. A lease that somebody holds is a *BlockedError.
// An image that meanwhile went by itself is none. What the images consist of is
// left to the registry's own garbage collection.
func (l *Lifecycle) DeleteImages(ctx context.Context, r DeleteImagesRequest) (DeletedImages, error) {
	if r.Unused == (len(r.Digests) > 0) {
		return DeletedImages{}, errors.New("lifecycle: exactly one of DeleteImagesRequest.Digests and Unused is to be set")
	}
	o := l.begin("", nil)
	var done DeletedImages
	all := append([]*Lifecycle{l}, r.Sharing...)
	if r.DryRun {
		all = nil
	}
	err := o.holding(ctx, all, nil, func(ctx context.Context, held []*lease.Held) (err error) {
		done, err = o.deleteImages(ctx, r, held)
		return err
	})
	return done, TargetError(err)
}

// holding calls f while the leases of targets are held, one within the other.
func (o *operation) holding(ctx context.Context, targets []*Lifecycle, held []*lease.Held, f func(context.Context, []*lease.Held) error) error {
	if len(targets) == 0 {
		return f(ctx, held)
	}
	t := targets[0].begin("", nil)
	h, err := t.Lease.Acquire(ctx, lease.Request{Mode: lease.ModeDeliver, User: o.Actor, Purpose: "delete images"})
	if other, ok := errors.AsType[*lease.HeldError](err); ok {
		return t.blocked(other.State, err)
	}
	if err != nil {
		return err
	}
	err = t.keeping(ctx, h, func(ctx context.Context, h *lease.Held) error {
		return o.holding(ctx, targets[1:], append(held, h), f)
	})
	if relErr := t.release(ctx, h); relErr != nil {
		o.Log.Warn("the lease could not be released", "target", t.Target, "err", relErr)
		if err != nil {
			err = errors.Join(err, relErr)
		}
	}
	return err
}

func (o *operation) deleteImages(ctx context.Context, r DeleteImagesRequest, held []*lease.Held) (DeletedImages, error) {
	var done DeletedImages
	unused, used, err := o.sortOut(ctx, r.UsedImages)
	if err != nil {
		return done, err
	}
	if r.Unused && !used.delivered && len(unused) > 0 {
		return done, &BlockedError{Reason: fmt.Sprintf("nothing was delivered to target %q in this cluster, so all of its images would be deleted", o.Target),
			Next: "Check the context. If it is the right one, delete images by their digests: kubectl pharos images --unused lists them"}
	}
	chosen, err := o.choose(r, unused, used, &done)
	if err != nil {
		return done, err
	}
	for _, image := range chosen {
		if !r.DryRun {
			for _, h := range held {
				if err := h.Check(ctx); err != nil {
					return done, err
				}
			}
			if err := o.Registry.Delete(ctx, image.Repository, image.StoredImage); err != nil && !errors.Is(err, ErrImageNotFound) {
				return done, err
			}
			if r.Deleted != nil {
				r.Deleted(image)
			}
		}
		done.Deleted = append(done.Deleted, image)
	}
	return done, nil
}

// choose returns what the request asks to delete of what is not used.
func (o *operation) choose(r DeleteImagesRequest, unused []UnusedImage, used uses, done *DeletedImages) ([]UnusedImage, error) {
	var chosen []UnusedImage
	if r.Unused {
		for _, image := range unused {
			if image.Built() {
				chosen = append(chosen, image)
			} else {
				done.Left = append(done.Left, image)
			}
		}
		return chosen, nil
	}
	var errs []error
	for _, digest := range slices.Compact(slices.Sorted(slices.Values(r.Digests))) {
		at := len(chosen)
		for _, image := range unused {
			if image.Digest == digest {
				chosen = append(chosen, image)
			}
		}
		switch by := used.by[digest]; {
		case by != "":
			errs = append(errs, &BlockedError{Reason: fmt.Sprintf("%s is not deleted: %s names it", digest, by),
				Next: "See what it is, and what else is used: kubectl pharos receipts list"})
		case len(chosen) == at:
			errs = append(errs, &Error{Op: "delete image", On: string(digest), Class: ErrSource,
				Err:    fmt.Errorf("%w: no tag leads to it in the repositories of the target's images, or it is a part of an image that is used", ErrImageNotFound),
				Advice: "See what there is to delete: kubectl pharos images --unused"})
		}
	}
	return chosen, errors.Join(errs...)
}
