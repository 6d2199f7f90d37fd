package standard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
	gate "github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

// NewLease returns the manager of a target's lease. Where Argo CD delivers, it
// closes its projects by sync windows while the target is borrowed: see package
// lease/argocd. It makes no call.
func NewLease(t Target, o Options) (*lease.Manager, error) {
	c := o.Lease
	c.REST, c.Namespace, c.Target, c.Log = o.REST, t.Namespace, t.Name, o.Log
	if t.Deliver.ArgoCD != nil && c.Gate == nil && o.REST != nil {
		a, err := newApplications(t, o)
		if err != nil {
			return nil, err
		}
		g, err := gate.New(gate.Config{REST: o.REST, Namespace: t.Deliver.ArgoCD.Namespace, Applications: a.names, Clock: c.Clock, Log: o.Log})
		if err != nil {
			return nil, err
		}
		c.Gate = g
	}
	return lease.New(c)
}

// Applications returns the names of the Applications of Argo CD that deliver a
// target, sorted: those of which its applied receipt says so, or else those of its
// document and the Applications that these declare. There are none if something
// else delivers it.
func Applications(ctx context.Context, t Target, o Options) ([]string, error) {
	if t.Deliver.ArgoCD == nil {
		return nil, nil
	}
	a, err := newApplications(t, o)
	if err != nil {
		return nil, err
	}
	return a.names(ctx)
}

// applications knows the Applications of a target.
type applications struct {
	target   Target
	receipts receipt.Store
	argo     *argo.Client
}

func newApplications(t Target, o Options) (*applications, error) {
	receipts, err := kube.New(kube.Config{REST: o.REST, Namespace: t.Namespace, Target: t.Name})
	if err != nil {
		return nil, err
	}
	client, err := argo.NewClient(o.REST)
	if err != nil {
		return nil, err
	}
	return &applications{t, receipts, client}, nil
}

func (a *applications) names(ctx context.Context) ([]string, error) {
	p, err := a.receipts.Pointers(ctx)
	if err == nil && p.Applied != "" {
		var r receipt.Record
		if r, err = a.receipts.Get(ctx, p.Applied); err == nil {
			return a.delivered(r), nil
		}
	}
	if err != nil && !errors.Is(err, receipt.ErrNotFound) && !errors.Is(err, receipt.ErrCorrupt) {
		return nil, fmt.Errorf("find the Applications of target %q: %w", a.target.Name, err)
	}
	return a.declared(ctx)
}

// delivered are those that a receipt names.
func (a *applications) delivered(r receipt.Record) []string {
	var names []string
	for _, o := range r.Objects {
		if o.Group == argo.Group && o.Kind == argo.KindApplication && o.Namespace == a.target.Deliver.ArgoCD.Namespace {
			names = append(names, o.Name)
		}
	}
	return distinct(names)
}

// declared are those of the target's document, and the Applications among their
// resources.
func (a *applications) declared(ctx context.Context) ([]string, error) {
	way := a.target.Deliver.ArgoCD
	var names []string
	if way.Root != "" {
		names = []string{way.Root}
	}
	for _, p := range way.Applications {
		names = append(names, p.Name)
	}
	for _, name := range slices.Clone(names) {
		app, err := a.argo.Application(ctx, way.Namespace, name)
		if apierrors.IsNotFound(err) {
			continue // the gate says so
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", argo.Name(way.Namespace, name), err)
		}
		for _, r := range app.Status.Resources {
			if r.Group == argo.Group && r.Kind == argo.KindApplication && r.Namespace == way.Namespace {
				names = append(names, r.Name)
			}
		}
	}
	return distinct(names), nil
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
