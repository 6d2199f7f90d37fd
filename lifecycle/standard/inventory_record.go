package standard

import (
	"context"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// RecordInventory counts what an Inventory counts by default, and keeps that for the
// trends of later ones; of the target only Name and Namespace count. What cannot be
// listed is no part of the sample. It takes the rights to get, create and update
// ConfigMaps in the target's namespace, to list namespaces, and to list what is to be
// counted in the target's namespaces. The error matches lifecycle.ErrUnreachable if the
// cluster does not answer; inventory.ErrSamples if the kept samples cannot be read.
func RecordInventory(ctx context.Context, t Target, o Options) (inventory.Sample, error) {
	declared, err := appliedDeclaration(ctx, t, o)
	if err != nil {
		return inventory.Sample{}, lifecycle.TargetError(err)
	}
	i, err := inventory.New(inventory.Config{REST: o.REST, Target: t.Name})
	if err != nil {
		return inventory.Sample{}, err
	}
	report, err := i.Take(ctx, inventory.Request{Namespaces: namespacesOf(t, declared), Declared: declared})
	if err != nil {
		return inventory.Sample{}, lifecycle.TargetError(err)
	}
	samples, err := NewInventorySamples(t, o)
	if err != nil {
		return inventory.Sample{}, err
	}
	sample := report.Sample()
	return sample, lifecycle.TargetError(samples.Add(ctx, sample))
}

// appliedDeclaration is what the applied receipt declares, nil if there is none. Whether
// its objects are there is not asked.
func appliedDeclaration(ctx context.Context, t Target, o Options) (*inventory.Declaration, error) {
	store, err := NewReceipts(t, o)
	if err != nil {
		return nil, err
	}
	p, err := store.Pointers(ctx)
	if err != nil || p.Applied == "" {
		return nil, err
	}
	rec, err := store.Get(ctx, p.Applied)
	if err != nil {
		return nil, err
	}
	d := declarationOf(p.Applied, rec, nil)
	for n := range d.Objects {
		d.Objects[n].Seen = true
	}
	return d, nil
}
