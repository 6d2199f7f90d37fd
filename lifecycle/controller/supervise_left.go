package controller

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/lease"
)

// Inspecter tells about the lease of a target. *lease.Manager is one.
type Inspecter interface {
	Inspect(ctx context.Context) (lease.State, error)
}

// leftAlone says why the workloads of a target are left alone: a person is at work on
// it, for whom a pod that does not get ready may be what they are looking at.
func leftAlone(leases map[string][]Inspecter) func(context.Context, string) (string, error) {
	if len(leases) == 0 {
		return nil
	}
	return func(ctx context.Context, target string) (string, error) {
		if len(leases[target]) == 0 {
			return fmt.Sprintf("target %s delivers it, whose lease is not watched here", target), nil
		}
		for _, of := range leases[target] {
			state, err := of.Inspect(ctx)
			if err != nil {
				return "", fmt.Errorf("read the lease of target %s: %w", target, err)
			}
			if state.Held && state.Mode != lease.ModeDeliver {
				return fmt.Sprintf("%s has target %s in mode %s", state.Who(), target, state.Mode), nil
			}
		}
		return "", nil
	}
}
