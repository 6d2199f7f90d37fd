package portforward

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/streaming/pkg/httpstream"
)

// ErrSilent is returned when a connection was given up since nothing was heard from its far end.
var ErrSilent = errors.New("nothing is heard from it any more")

// ErrLost is returned when the far end, or something between, has closed the connection.
var ErrLost = errors.New("the connection was lost")

// Error says which pod, and which of its ports, was not reached.
type Error struct {
	Namespace, Pod string
	// Port is 0 where the pod as a whole was not reached.
	Port uint16
	// Err is the cause, such as [ErrSilent], or a *apierrors.StatusError of the API server.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	what := fmt.Sprintf("reach pod %s/%s", e.Namespace, e.Pod)
	if e.Port != 0 {
		what = fmt.Sprintf("reach port %d of pod %s/%s", e.Port, e.Namespace, e.Pod)
	}
	return fmt.Sprintf("%s through the API server: %v%s", what, e.Err, e.advice())
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) advice() string {
	switch {
	case apierrors.IsForbidden(e.Err):
		return fmt.Sprintf(" (grant get and create on pods/portforward in namespace %s)", e.Namespace)
	case apierrors.IsUnauthorized(e.Err):
		return " (log in again: the API server does not accept the credentials)"
	case apierrors.IsNotFound(e.Err):
		return " (the pod is gone)"
	}
	return ""
}

// refusedError is an upgrade that failed, with its cause to be found by errors.As, and as its text.
type refusedError struct {
	upgrade *httpstream.UpgradeFailureError
}

func (e *refusedError) Error() string   { return e.upgrade.Cause.Error() }
func (e *refusedError) Unwrap() []error { return []error{e.upgrade, e.upgrade.Cause} }
