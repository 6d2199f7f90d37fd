package kubeclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/fault"
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
// over about one and a half seconds, or longer where the server says when to
// come back. Requests made in f must be safe to repeat, and should have
// MaxRetries(0): client-go repeats some ten times, a second apart. It returns
// f's last error, or ctx's when that ends first.
func Retry(ctx context.Context, f func() error) error {
	const attempts = 5
	for n := 1; ; n++ {
		err := f()
		if err == nil || ctx.Err() != nil || n == attempts || !Transient(err) {
			return err
		}
		if err := Pause(ctx, n, err); err != nil {
			return err
		}
	}
}

// Pause waits before a request is made again that has failed n times, last with err:
// twice as long each time, up to two seconds, or longer where the server says when to
// come back. It returns ctx's error when that ends first.
func Pause(ctx context.Context, n int, err error) error {
	const first, usual, longest = 100 * time.Millisecond, 2 * time.Second, 10 * time.Second
	delay := min(first<<min(n-1, 10), usual)
	wait := delay + rand.N(delay/4)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		wait = max(wait, min(time.Duration(seconds)*time.Second, longest))
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// NotFound reports whether the server answered that the object does not exist, and
// not that it does not know what is asked for.
func NotFound(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// Unavailable reports whether the server could not be reached, did not let us
// in, or could not answer: nothing that another request would mend.
func Unavailable(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusUnauthorized || code == http.StatusForbidden || Transient(err)
	}
	return fault.OfConnection(err)
}
