package main

import (
	"context"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/receipt"
)

// pastTakeover is a Deliverer that takes what a takeover has changed, as long as that has
// the target's lease, for no drift. What else was changed of the same workloads is one.
type pastTakeover struct {
	lifecycle.Deliverer
	target  standard.Target
	options standard.Options
	lease   lifecycle.Lease
}

// Observe implements lifecycle.Deliverer. The target is asked for a takeover only where
// something has drifted.
func (d pastTakeover) Observe(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	seen, err := d.Deliverer.Observe(ctx, r)
	if err != nil || len(seen.Drifted) == 0 {
		return seen, err
	}
	taken := d.taken(ctx)
	if len(taken) == 0 {
		return seen, nil
	}
	r.Known = func(o receipt.Object, live []byte) ([]byte, error) {
		for _, t := range taken {
			if o.Group == "apps" && o.Kind == "Deployment" && o.Namespace == t.Namespace && o.Name == t.Name {
				return divert.Undiverted(live, t)
			}
		}
		return live, nil
	}
	return d.Deliverer.Observe(ctx, r)
}

// taken is what is taken over; nothing where that cannot be told, which is then shown as
// it is.
func (d pastTakeover) taken(ctx context.Context) (list []divert.Diversion) {
	now, err := d.lease.Inspect(ctx)
	if err != nil || !now.Held {
		return nil
	}
	doc, err := standard.TakeoverOf(ctx, d.target, d.options)
	if err != nil || doc.Holder != now.Holder {
		return nil
	}
	for _, w := range doc.Workloads {
		if w.State == journal.Diverting {
			list = append(list, w.Diversion)
		}
	}
	return list
}
