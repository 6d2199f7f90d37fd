package argocd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lease"
)

// refusal is a lease.ErrInvalid that says why, and no more.
type refusal string

func (r refusal) Error() string { return string(r) }

// Is reports that a refusal is a lease.ErrInvalid.
func (r refusal) Is(target error) bool { return target == lease.ErrInvalid }

// guardError is an error of the caller's guard, which is returned as it is.
type guardError struct{ err error }

func (e guardError) Error() string { return e.err.Error() }
func (e guardError) Unwrap() error { return e.err }

// plain is an error as it leaves the package.
func plain(err error) error {
	if guard, ok := err.(guardError); ok {
		return guard.err
	}
	return err
}

// fail says what was attempted on what, and what to do about it.
func fail(op, object string, err error) error {
	var own *lease.Error
	var guard guardError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &guard), errors.As(err, &own):
		return err
	}
	e := &lease.Error{Op: op, Object: object, Err: err}
	switch {
	case apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource"):
		e.Advice = "The cluster does not know Argo CD's kinds. Install Argo CD there, or choose its cluster."
	case apierrors.IsForbidden(err):
		e.Advice = "Ask an administrator for this right: the documentation of package lease/argocd lists all that are needed."
	case apierrors.IsUnauthorized(err):
		e.Advice = "Renew the credentials of the kubeconfig's user: the server does not accept them."
	case kubeclient.Unavailable(err) && !errors.Is(err, context.Canceled):
		e.Advice = "Check that the cluster is up, and try again: what is done already stays done."
	}
	return e
}

// busy says what is being done to an Application, and how to end it.
func busy(a *argo.Application) error {
	what := "an operation runs, begun by " + argo.Operator(a)
	if argo.Parked(a) {
		what = fmt.Sprintf("an operation, begun by %s, waits for the end of a sync window", argo.Operator(a))
	}
	return &lease.Error{Op: closing, Object: a.String(), Err: fmt.Errorf("%w: %s", lease.ErrBusy, what),
		Advice: "Wait for it, or end it: argocd app terminate-op " + a.Metadata.Name}
}

// The operations, as errors name them.
const (
	borrowing = "borrow"
	resolving = "find what to cover"
	closing   = "close the gate"
	extending = "extend the gate"
	opening   = "open the gate"
)
