package kube

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

// ErrNoNamespace is returned when a receipt, an outcome or the pointers are to
// be written for the first time and the store's namespace does not exist.
var ErrNoNamespace = errors.New("the namespace does not exist")

// Error says what was attempted on which object, and why it failed. The causes
// that callers decide by are the sentinels of package receipt, ErrNoNamespace,
// and the API server's own errors (k8s.io/apimachinery/pkg/api/errors).
type Error struct {
	Op     string // "write receipt"
	Object string // "ConfigMap pharos/pharos-devbox"
	Err    error
	Advice string // what to do, one line; may be empty
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %s: %v", e.Op, e.Object, e.Err)
	if e.Advice != "" {
		msg += "\n" + e.Advice
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail wraps an error of the API or of package receipt.
func (s *Store) fail(op, name string, err error) error {
	e := &Error{Op: op, Object: "ConfigMap " + s.namespace + "/" + name, Err: err}
	switch {
	case kubeclient.NamespaceMissing(err):
		e.Err = fmt.Errorf("%w: %w", ErrNoNamespace, err)
		e.Advice = fmt.Sprintf("Create it: kubectl create namespace %s", s.namespace)
	case apierrors.IsUnauthorized(err):
		e.Advice = "Renew the credentials of the kubeconfig's user: the server does not accept them."
	case apierrors.IsForbidden(err):
		e.Advice = kubeclient.ForbiddenAdvice(err, s.namespace,
			"What is needed is to get, list, create, patch and delete configmaps in "+s.namespace+": "+kubeclient.RightsPage)
	case apierrors.IsNotFound(err):
		e.Err = fmt.Errorf("%w: %w", receipt.ErrNotFound, err)
	}
	return e
}
