package standard

import (
	"fmt"

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
