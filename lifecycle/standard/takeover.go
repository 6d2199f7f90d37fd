package standard

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// NewRestorer returns what ends a takeover of the target in its holder's stead, as
// Options.Actor. It makes no call.
func NewRestorer(t Target, o Options) (*restore.Restorer, error) {
	leases, err := NewLease(t, o)
	if err != nil {
		return nil, fmt.Errorf("set up the lease of target %q: %w", t.Name, err)
	}
	return restore.New(restore.Config{REST: o.REST, Namespace: t.Namespace, Target: t.Name, Lease: leases, By: o.Actor, Others: t.Deliver.ArgoCD != nil, Log: o.Log})
}

// TakeoverOf returns the takeover of a target as the target itself has it written down,
// whoever's it is, with one API call. The error matches journal.ErrNone if there is none,
// and journal.ErrDamaged if it cannot be read. It takes the right to get the Secret
// pharos-TARGET.takeover in the target's namespace.
func TakeoverOf(ctx context.Context, t Target, o Options) (journal.Document, error) {
	store, err := journal.NewStore(journal.StoreConfig{REST: o.REST, Namespace: t.Namespace, Target: t.Name})
	if err != nil {
		return journal.Document{}, err
	}
	session, err := store.Load(ctx)
	return session.Document, lifecycle.TargetError(err)
}
