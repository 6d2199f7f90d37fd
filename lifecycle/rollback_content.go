package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

func commitOf(r *receipt.Record) source.ID { return source.ID(r.Commit) }

// noRollback says of an error that for it the earlier receipt cannot be delivered.
func (d *delivery) noRollback(err error) error {
	return fmt.Errorf("%w to receipt %s: %w", ErrNoRollback, d.earlier.id.Short(), err)
}

// wantEarlier reads the receipt's commit, and takes the images from the receipt.
func (d *delivery) wantEarlier(ctx context.Context) error {
	rec := &d.earlier.record
	commit, err := d.request.Repository.Commit(ctx, rec.Commit)
	if missing(err) {
		return d.noRollback(&Error{Op: "read", On: "commit " + short(commitOf(rec)), Class: ErrSource, Err: err,
			Advice: "Fetch it, its manifests are needed: git fetch origin " + rec.Commit})
	}
	if err != nil {
		return &Error{Op: "read", On: "commit " + short(commitOf(rec)), Class: ErrSource, Err: err}
	}
	d.request.Commit = commit
	if d.want, err = d.operation.want(ctx, commit); err != nil {
		return d.noRollback(err)
	}
	d.images = nil
	var errs []error
	for i := range rec.Images {
		img, err := d.recorded(&rec.Images[i])
		errs = append(errs, err)
		d.images = append(d.images, img)
	}
	if err := errors.Join(errs...); err != nil {
		return d.noRollback(err)
	}
	for _, img := range d.images {
		for _, name := range img.state.Dependencies {
			if on := slices.IndexFunc(d.images, func(i *image) bool { return i.status.Name == name }); on >= 0 {
				img.on = append(img.on, d.images[on])
			}
		}
	}
	return nil
}

// recorded is an image as a record names it.
func (d *delivery) recorded(k *receipt.Image) (*image, error) {
	i := slices.IndexFunc(d.want.states, func(st catalogue.State) bool { return st.Image.Name == k.Name })
	if i < 0 {
		return nil, &Error{Op: "find", On: "image " + k.Name, Class: ErrSource, Err: fmt.Errorf("it is not in %s of the receipt's commit", catalogue.FileName)}
	}
	if here := d.Pull + "/" + k.Name; k.Repository != here {
		return nil, &Error{Op: "find", On: "image " + k.Name, Class: ErrSource, Err: fmt.Errorf("the receipt has it from %s, and this target from %s", k.Repository, here),
			Advice: "Use the target as it stands in " + catalogue.FileName + " of the receipt's commit, or deliver the commit anew: kubectl pharos reconcile " + short(d.want.commit.ID)}
	}
	return &image{state: d.want.states[i], platforms: k.Platforms, toolchain: k.Toolchain, known: k, status: ImageStatus{
		Name: k.Name, Fingerprint: catalogue.Fingerprint(k.Fingerprint), Repository: k.Repository, Digest: Digest(k.Digest), Reason: "the earlier receipt names it",
	}}, nil
}

// fill takes over into a record what the earlier receipt says.
func (e *earlier) fill(rec *receipt.Record, applied receipt.ID) {
	if e == nil {
		return
	}
	rec.Images = e.record.Images
	if e.id != applied { // else it is that one, delivered again
		rec.RollbackOf = e.id
	}
}

// sameAsEarlier refuses a rendering that is not what the earlier receipt names.
func (d *delivery) sameAsEarlier() error {
	if d.earlier == nil {
		return nil
	}
	was, is := d.earlier.record.Objects, d.record.Objects
	var differ []string
	note := func(how string, o receipt.Object) { differ = append(differ, how+" "+ObjectName(o)) }
	same := func(a receipt.Object) func(receipt.Object) bool {
		return func(b receipt.Object) bool { return receipt.CompareObjects(a, b) == 0 }
	}
	for _, o := range was {
		i := slices.IndexFunc(is, same(o))
		switch {
		case i < 0:
			note("no", o)
		case is[i] != o:
			note("another", o)
		}
	}
	for _, o := range is {
		if !slices.ContainsFunc(was, same(o)) {
			note("also", o)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	why := "though the renderer is the same"
	if then, now := d.earlier.record.Renderer, d.Renderer.ID(); then != now {
		why = fmt.Sprintf("by the renderer %s %s, and the receipt was by %s %s", now.Name, now.Version, then.Name, then.Version)
	}
	if len(differ) > 5 {
		differ = append(differ[:5], "…")
	}
	return d.noRollback(&Error{Op: "render", On: "commit " + short(d.want.commit.ID), Class: ErrSource,
		Err:    fmt.Errorf("it comes to other objects than the receipt names, %s: %s", why, strings.Join(differ, ", ")),
		Advice: "Deliver the commit as it is rendered now: kubectl pharos reconcile " + short(d.want.commit.ID)})
}
