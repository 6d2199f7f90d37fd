package kubeclient

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Refused reports whether the server answered that it did not do what it was
// asked for. After any other error it may have been done, or still be done.
func Refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// Transient reports whether the same request may well succeed a little later.
func Transient(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		// The connection, then; certificates and the like do not mend by
		// themselves, but nor does trying again for a second cost much.
		return true
	}
	code := status.Status().Code
	return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

// NamespaceMissing reports whether a create failed because its namespace does
// not exist.
func NamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	d := status.Status().Details
	return d != nil && d.Kind == "namespaces"
}

// Retry calls f until it succeeds, fails for good, or has been tried five times
// over about one and a half seconds. Requests made in f must be safe to repeat.
// It returns f's last error, or ctx's when that ends first.
func Retry(ctx context.Context, f func() error) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		last = f()
		if last == nil {
			return true, nil
		}
		if ctx.Err() != nil || !Transient(last) {
			return false, last
		}
		return false, nil
	})
	if ctx.Err() == nil && last != nil {
		return last
	}
	return err
}

// NotFound reports whether the server answered that the object does not exist.
func NotFound(err error) bool { return apierrors.IsNotFound(err) }
