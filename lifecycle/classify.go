package lifecycle

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// TargetError makes an error of a store, a lease or a cluster match
// ErrUnreachable where that is what it is. Its text stays.
func TargetError(err error) error {
	if err == nil || errors.Is(err, ErrUnreachable) || errors.Is(err, context.Canceled) || errors.Is(err, ErrBlocked) || !kubeclient.Unavailable(err) {
		return err
	}
	return &classed{class: ErrUnreachable, err: err}
}

type classed struct{ class, err error }

func (e *classed) Error() string   { return e.err.Error() }
func (e *classed) Unwrap() []error { return []error{e.class, e.err} }
