package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	// MinKeep is the least that Config.Keep may be. So many of the newest receipts
	// keep their images, and so far back orphans are searched for.
	MinKeep = DefaultKeep
	// dropAtOnce bounds how many receipts one delivery drops: with the first of a
	// long history, or after Keep was lowered, it should not take longer than
	// others do.
	dropAtOnce = 20
)

// retain drops the receipts that nothing needs any more, the oldest first. The
// target is live, whatever comes of it: what could not be dropped is a finding, and
// for the next delivery. A call that is killed leaves receipts that are there in
// full, or gone.
func (d *delivery) retain(ctx context.Context) {
	if err := d.dropOld(ctx); err != nil && ctx.Err() == nil {
		d.result.Noticed = append(d.result.Noticed, Finding{Subject: "receipts",
			Message: fmt.Sprintf("old ones could not be dropped, which the next delivery tries again: %v", err)})
	}
}

func (d *delivery) dropOld(ctx context.Context) error {
	if d.Keep <= 0 && d.Transport == nil {
		return nil
	}
	list, err := d.Receipts.List(ctx)
	if err != nil {
		return fmt.Errorf("list the receipts: %w", err)
	}
	var drop []receipt.ID
	if d.Keep > 0 {
		if drop, err = d.old(ctx, list, d.pointers, d.Keep); err != nil {
			return err
		}
	}
	if err := d.forget(ctx, list, drop); err != nil {
		return err
	}
	for _, id := range drop {
		if err := d.held.Check(ctx); err != nil {
			return err
		}
		if err := d.Receipts.Delete(ctx, id); err != nil {
			return err
		}
		d.result.Dropped = append(d.result.Dropped, id)
	}
	return nil
}

// forget has the Git server forget the receipts before the store does: the other
// way round, nobody would know any more what it is to forget.
func (d *delivery) forget(ctx context.Context, list []receipt.Summary, drop []receipt.ID) error {
	if d.Transport == nil {
		return nil
	}
	return d.Transport.Retain(ctx, RetainRequest{Dropped: drop, Inputs: d.inputs(ctx, list)})
}

// inputs are the pruned trees that images were built from whose receipts keep
// them; nil if that is not known.
func (d *delivery) inputs(ctx context.Context, list []receipt.Summary) []source.ID {
	if len(d.record.Images) == 0 {
		return nil
	}
	trees := []source.ID{}
	for i, s := range list {
		if i >= DefaultKeep && s.ID != d.pointers.Applied && s.ID != d.pointers.Live {
			continue
		}
		r, err := d.Receipts.Get(ctx, s.ID)
		if errors.Is(err, receipt.ErrNotFound) {
			continue
		}
		if err != nil {
			d.Log.Warn("a receipt cannot be read, so no inputs are forgotten", "receipt", s.ID.Short(), "err", err)
			return nil
		}
		for _, img := range r.Images {
			trees = append(trees, treesOf(img)...)
		}
	}
	slices.Sort(trees)
	return slices.Compact(trees)
}

// treesOf returns the pruned tree that an image was built from, by its
// fingerprint's preimage.
func treesOf(img receipt.Image) (trees []source.ID) {
	for _, f := range img.Preimage {
		if f.Key == "tree" {
			trees = append(trees, source.ID(f.Value))
		}
	}
	return trees
}
