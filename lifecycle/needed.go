package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/receipt"
)

// link is what a record says of others: which receipt was applied before it, and
// which one it repeats.
type link struct{ parent, rollbackOf receipt.ID }

func linkOf(r receipt.Record) link { return link{r.Parent, r.RollbackOf} }

// needed are the receipts that something needs: the newest, what the pointers name,
// the receipts before those as far back as orphans are searched for, and what any of
// these repeats, since further rollbacks go back from there. read returns nothing
// for a receipt that is gone.
func needed(newest []receipt.ID, p receipt.Pointers, read func(receipt.ID) (link, error)) (map[receipt.ID]bool, error) {
	is := map[receipt.ID]bool{}
	var queue []receipt.ID
	add := func(id receipt.ID) {
		if id != "" && !is[id] {
			is[id] = true
			queue = append(queue, id)
		}
	}
	for _, id := range newest {
		add(id)
	}
	for _, id := range []receipt.ID{p.Applied, p.Live} {
		for depth := 0; id != "" && depth <= orphanDepth; depth++ {
			add(id)
			l, err := read(id)
			if err != nil {
				return nil, err
			}
			id = l.parent
		}
	}
	for len(queue) > 0 {
		l, err := read(queue[0])
		if err != nil {
			return nil, err
		}
		queue = queue[1:]
		add(l.rollbackOf)
	}
	return is, nil
}

// links reads what records say of others. Those that are gone say nothing.
func (l *Lifecycle) links(ctx context.Context, ids ...receipt.ID) (map[receipt.ID]link, error) {
	read := make([]link, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i, id := range ids {
		g.Go(func() error {
			r, err := l.Receipts.Get(ctx, id)
			if err != nil && !errors.Is(err, receipt.ErrNotFound) {
				return fmt.Errorf("read receipt %s, which may need others: %w", id.Short(), err)
			}
			read[i] = linkOf(r)
			return nil
		})
	}
	known := map[receipt.ID]link{}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, id := range ids {
		known[id] = read[i]
	}
	return known, nil
}

// old are the receipts of a list, newest first, that nothing needs, oldest first and
// not more than are dropped at once. What they say of each other is read from the
// records themselves, since a store's index may have been edited. One that cannot be
// read may be needed.
func (l *Lifecycle) old(ctx context.Context, list []receipt.Summary, p receipt.Pointers, keep int) (drop []receipt.ID, err error) {
	if len(list) <= keep {
		return nil, nil
	}
	var newest []receipt.ID
	for _, s := range list[:keep] {
		newest = append(newest, s.ID)
	}
	known, err := l.links(ctx, newest...)
	if err != nil {
		return nil, err
	}
	is, err := needed(newest, p, func(id receipt.ID) (link, error) {
		if _, ok := known[id]; !ok {
			more, err := l.links(ctx, id)
			if err != nil {
				return link{}, err
			}
			known[id] = more[id]
		}
		return known[id], nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(list[keep:]) {
		if is[s.ID] {
			continue
		}
		w := receipt.ReadWhole(ctx, l.Receipts, s.ID)
		if err := errors.Join(w.RecordErr, w.OutcomesErr); unusable(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read receipt %s: %w", s.ID.Short(), err)
		}
		if drop = append(drop, s.ID); len(drop) == dropAtOnce {
			break
		}
	}
	return drop, nil
}
