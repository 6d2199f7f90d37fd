package lifecycle

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

// TargetError makes an error of a store, a lease or a cluster match
// ErrUnreachable where that is what it is. Its text stays. What a store holds
// and cannot be used, receipt.ErrCorrupt or receipt.ErrNotFound, was reached.
func TargetError(err error) error {
	if err == nil || !kubeclient.Unavailable(err) {
		return err
	}
	for _, other := range []error{ErrUnreachable, ErrBlocked, context.Canceled, receipt.ErrCorrupt, receipt.ErrNotFound} {
		if errors.Is(err, other) {
			return err
		}
	}
	return &classed{class: ErrUnreachable, err: err}
}

type classed struct{ class, err error }

func (e *classed) Error() string   { return e.err.Error() }
func (e *classed) Unwrap() []error { return []error{e.class, e.err} }
