package reaper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

var (
	// ErrGone is matched by the error of a call whose object does not exist any more,
	// also if there is another one of its name.
	ErrGone = errors.New("it is gone")
	// ErrEnding is matched by the error of a call whose object is being deleted: nothing
	// can keep it.
	ErrEnding = errors.New("it is being deleted, which nothing can stop")
	// ErrNamespaceEnds is matched by the error of Create for a namespace that is being
	// deleted, or about to be: the object would go with it.
	ErrNamespaceEnds = errors.New("its namespace ends")
	// ErrNotTransient is matched by the error of Extend for what does not say that it
	// ends.
	ErrNotTransient = errors.New("it does not say that it is transient, so that there is no end to move")
	// ErrConflict is matched by the error of a call during which others changed the
	// object over and over.
	ErrConflict = errors.New("others change it over and over")
)

// Error says what was attempted, on which object, why it failed, and what to do.
type Error struct {
	Op     string // "touch"
	Object string // "Namespace preview-42"
	Err    error
	Advice string // one line; may be empty
}

func (e *Error) Error() string {
	text := e.Op + " " + e.Object + ": " + e.Err.Error()
	if e.Advice != "" {
		text += "\n" + e.Advice
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail wraps what went wrong with an object.
func fail(op string, r Ref, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Object: r.String(), Err: err}
	switch {
	case kubeclient.NotFound(err) && r.UID == "":
		e.Err = fmt.Errorf("%w: %w", ErrGone, err)
		e.Advice = "See what is there: kubectl get " + r.resource()
		if r.Namespace != "" {
			e.Advice += " --namespace " + r.Namespace
		}
	case kubeclient.NotFound(err), otherUID(err):
		e.Err = fmt.Errorf("%w: %w", ErrGone, err)
		e.Advice = "Look for what is there now: another object may have its name."
	case apierrors.IsUnauthorized(err):
		e.Advice = "Renew the credentials of the kubeconfig's user: the server does not accept them."
	case apierrors.IsForbidden(err):
		e.Advice = kubeclient.ForbiddenAdvice(err, r.Namespace, "The right to patch "+r.resource()+" is needed, and for more than a touch also to get them.")
	case errors.Is(err, ErrNotTransient):
		e.Advice = "Say first that it ends: kubectl annotate it with " + keys.TTL + ", then kubectl label it with " + keys.Intent + "=" + string(Transient) + "."
	}
	return e
}

// resource is such as "deployments.apps".
func (r Ref) resource() string { return strings.TrimSuffix(r.Resource+"."+r.Group, ".") }

// otherUID says whether the server refused a patch since the object has another UID.
func otherUID(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return apierrors.IsInvalid(err) && slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" }) ||
		apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID in precondition")
}
