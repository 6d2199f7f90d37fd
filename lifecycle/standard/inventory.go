package standard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper/inventory"
	"github.com/pharos-dev/pharos/receipt"
)

// InventoryRequest says what to look at beside what the receipts say.
type InventoryRequest struct {
	// Config is how; REST and Target are filled in.
	Config inventory.Config
	// Namespaces are looked into, and of the applied receipt the objects in them and in
	// no namespace. The default is the target's own and those of the receipt's objects but for
	// Applications of Argo CD, whose namespace is the cluster's. AllNamespaces looks
	// into all.
	Namespaces    []string
	AllNamespaces bool
}

// Inventory looks at everything that is on the target: the objects of the applied
// receipt with what a Status says of them, what is transient, and what is durable and
// nobody declares. A target without a name has no receipts: then the request has to say
// which namespaces. It writes nothing.
//
// What cannot be read, the receipts, their drift and the kept samples included, is in
// the report's coverage. The error matches lifecycle.ErrUnreachable if the cluster does
// not answer.
func Inventory(ctx context.Context, t Target, o Options, r InventoryRequest) (inventory.Report, error) {
	request := inventory.Request{Namespaces: r.Namespaces, AllNamespaces: r.AllNamespaces}
	if t.Name != "" {
		if err := recall(ctx, t, o, &request); err != nil {
			return inventory.Report{}, err
		}
	}
	switch d := request.Declared; {
	case d != nil && len(r.Namespaces) > 0:
		d.Objects = slices.DeleteFunc(d.Objects, func(o inventory.DeclaredObject) bool {
			return o.Namespace != "" && !slices.Contains(r.Namespaces, o.Namespace)
		})
	case len(r.Namespaces) == 0 && !r.AllNamespaces && t.Name != "":
		request.Namespaces = namespacesOf(t, d)
	}
	r.Config.REST, r.Config.Target = o.REST, t.Name
	i, err := inventory.New(r.Config)
	if err != nil {
		return inventory.Report{}, err
	}
	report, err := i.Take(ctx, request)
	return report, lifecycle.TargetError(err)
}

// NewInventorySamples returns where the counts of earlier inventories of the target are
// kept, for trends. It makes no call.
func NewInventorySamples(t Target, o Options) (*inventory.Samples, error) {
	return inventory.NewSamples(inventory.SamplesConfig{REST: o.REST, Namespace: t.Namespace, Target: t.Name})
}

// recall fills in what is known of the target: the applied receipt and its drift, and
// the samples. What cannot be read is a gap.
func recall(ctx context.Context, t Target, o Options, request *inventory.Request) error {
	gap := func(what string, err error) {
		request.Coverage = append(request.Coverage, inventory.Gap{
			Forbidden: errors.Is(err, lifecycle.ErrForbidden) || apierrors.IsForbidden(err), Message: fmt.Sprintf("%s: %v", what, err)})
	}
	l, err := New(t, o)
	if err != nil {
		return err
	}
	st, err := l.Status(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && st.Applied != nil:
		request.Declared = declarationOf(st.Applied.ID, st.Applied.Record, &st.Observation)
	case err != nil:
		rec := st.Applied
		if rec == nil {
			rec = appliedAlone(ctx, t, o)
		}
		if rec == nil {
			gap("the applied receipt was not read, so that nothing is known to be missing or drifted", err)
			break
		}
		gap("whether the objects of the applied receipt have drifted was not seen", err)
		request.Declared = declarationOf(rec.ID, rec.Record, nil)
	}
	for _, u := range st.Unreadable {
		gap(u.What+" cannot be used", u.Err)
	}
	samples, err := NewInventorySamples(t, o)
	if err != nil {
		return err
	}
	if request.Samples, err = samples.Load(ctx); err != nil {
		gap("no trend is known", err)
	}
	return nil
}

// appliedAlone reads the applied receipt where the rest of a status cannot be read, or
// returns nil.
func appliedAlone(ctx context.Context, t Target, o Options) *lifecycle.ReceiptStatus {
	store, err := NewReceipts(t, o)
	if err != nil {
		return nil
	}
	p, err := store.Pointers(ctx)
	if err != nil || p.Applied == "" {
		return nil
	}
	rec, err := store.Get(ctx, p.Applied)
	if err != nil {
		return nil
	}
	if cluster, err := NewCluster(o.REST, t.Namespace); err == nil {
		if uid, err := cluster.UID(ctx); err == nil && uid != rec.Target.ClusterUID {
			return nil // it is of another cluster
		}
	}
	return &lifecycle.ReceiptStatus{ID: p.Applied, Record: rec}
}

// declarationOf hands the inventory what a receipt says, and what was seen of it; nil
// if that is not known.
func declarationOf(id receipt.ID, rec receipt.Record, seen *lifecycle.Observation) *inventory.Declaration {
	d := &inventory.Declaration{Of: "receipt " + id.Short()}
	is := map[inventory.Ref]*inventory.DeclaredObject{}
	for _, obj := range rec.Objects {
		// Jobs may have run to their end, of which the observation would know.
		d.Objects = append(d.Objects, inventory.DeclaredObject{Ref: refOf(obj), MayBeGone: seen == nil && obj.Group == "batch" && obj.Kind == "Job"})
	}
	for n := range d.Objects {
		is[d.Objects[n].Ref] = &d.Objects[n]
	}
	if seen == nil {
		return d
	}
	mark := func(r inventory.Ref, as func(*inventory.DeclaredObject)) {
		if obj := is[r]; obj != nil {
			as(obj)
		}
	}
	for _, s := range seen.Seen {
		mark(inventory.Ref{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}, func(o *inventory.DeclaredObject) { o.Seen = true })
	}
	for _, c := range seen.Completed {
		mark(refOf(c), func(o *inventory.DeclaredObject) { o.MayBeGone = true })
	}
	for _, s := range seen.Drifted {
		mark(refOf(s.Object), func(o *inventory.DeclaredObject) { o.Drift = s.Reason })
	}
	for _, orphan := range seen.Orphans {
		d.Orphans = append(d.Orphans, refOf(orphan))
	}
	return d
}

func refOf(o receipt.Object) inventory.Ref {
	return inventory.Ref{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// namespacesOf are the target's own namespace and those that are delivered to.
func namespacesOf(t Target, d *inventory.Declaration) []string {
	names := []string{t.Namespace}
	if d != nil {
		for _, o := range d.Objects {
			switch {
			case o.Group == argo.Group && o.Kind == argo.KindApplication:
			case o.Namespace != "":
				names = append(names, o.Namespace)
			case o.Group == "" && o.Kind == "Namespace":
				names = append(names, o.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
