package argocd

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// gone is what is known of objects that an operation has applied and waits for,
// and that somebody has deleted since: Argo CD waits for them without end, and does
// not make them again.
type gone struct {
	objects []receipt.Object
	asked   time.Time
	asking  bool
	// ended says that the operation was told to end. That is done once: what is
	// deleted over and over is not for us to bring.
	ended bool
	// before says that its end is still to be told from that of the next one.
	before bool
}

// awaited are the objects that an operation waits for, of kinds that stay: Jobs and
// Pods may go when they are done.
func awaited(a *argo.Application, objects []receipt.Object) []receipt.Object {
	if a == nil || !endable(a) || a.Status.OperationState.SyncResult == nil {
		return nil
	}
	var list []receipt.Object
	for _, res := range a.Status.OperationState.SyncResult.Resources {
		if res.Status != "Synced" || res.HookType != "" || res.HookPhase != "Running" || res.Kind == "Job" || res.Kind == "Pod" {
			continue
		}
		of := receipt.Object{Group: res.Group, Kind: res.Kind, Namespace: res.Namespace, Name: res.Name}
		if i := slices.IndexFunc(objects, func(o receipt.Object) bool { return receipt.CompareObjects(o, of) == 0 }); i >= 0 && runs(objects[i]) {
			list = append(list, objects[i])
		}
	}
	return list
}

// askGone looks whether what operations wait for is there, where they have waited
// for a while.
func (w *watching) askGone(ctx context.Context, wg *sync.WaitGroup, tell func(func())) {
	for _, p := range w.parts {
		objects := awaited(p.app, w.r.Objects)
		if len(objects) == 0 {
			p.gone.objects = nil
			continue
		}
		if w.r.Guard == nil || p.gone.ended || p.gone.asking || w.now().Sub(p.since) <= patience || w.now().Sub(p.gone.asked) < askObjects {
			continue
		}
		p.gone.asking, p.gone.asked = true, w.now()
		wg.Go(func() {
			o, err := w.objects.Observe(ctx, lifecycle.ObserveRequest{Target: w.r.Target, Objects: objects})
			tell(func() {
				if p.gone.asking = false; err == nil {
					p.gone.objects = missingOf(objects, o.Seen)
				}
			})
		})
	}
}

func missingOf(objects []receipt.Object, seen []receipt.Seen) []receipt.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o receipt.Object) bool {
		return slices.ContainsFunc(seen, func(s receipt.Seen) bool {
			return s.Group == o.Group && s.Kind == o.Kind && s.Namespace == o.Namespace && s.Name == o.Name
		})
	})
}

// giveUp ends an operation that waits for what is gone, so that the next one
// brings it again.
func (w *watching) giveUp(ctx context.Context, p *watched) error {
	p.gone.ended, p.gone.before = true, true
	return w.change(ctx, p.part, w.r.Guard, terminate)
}

// forget has the end of an operation that was told to end say nothing of the
// delivery.
func (p *watched) forget() {
	if s := p.app; p.gone.before && s != nil && s.Status.OperationState != nil && !argo.Busy(s) {
		p.gone.before, p.want.Before = false, argo.LastOf(s)
	}
}
