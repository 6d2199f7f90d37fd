package apply

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// guardError marks the error of a request's guard, so that it is returned as
// it is and never tried again.
type guardError struct{ err error }

func (e *guardError) Error() string { return e.err.Error() }
func (e *guardError) Unwrap() error { return e.err }

// transient says whether the same request may succeed a little later. All of
// ours may be sent twice: server-side apply of the same object by the same
// manager is idempotent, and the rest reads.
func (c *client) transient(err error) bool {
	if s, ok := answered(err); ok {
		switch s.Code {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		case http.StatusInternalServerError:
			// The server answers 500 to what does not fit its schema.
			return !schemaMismatch(s)
		case http.StatusConflict:
			// Without field managers it is a race of two writers, which the
			// server settles for whoever comes again.
			return !managerConflict(s)
		}
		return false
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return false
	}
	return c.reached.Load()
}

func answered(err error) (metav1.Status, bool) {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return s.Status(), true
	}
	return metav1.Status{}, false
}

// schemaMismatch says that the object does not fit its kind, which some servers
// answer with 500.
func schemaMismatch(s metav1.Status) bool {
	return strings.Contains(s.Message, "failed to create typed patch object") || strings.Contains(s.Message, "illegal base64 data")
}

func managerConflict(s metav1.Status) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == metav1.CauseTypeFieldManagerConflict {
			return true
		}
	}
	return false
}

// retryAfter is how long the server wants us to wait, zero if it did not say.
func retryAfter(err error) time.Duration {
	if s, ok := answered(err); ok && s.Details != nil {
		return time.Duration(s.Details.RetryAfterSeconds) * time.Second
	}
	return 0
}

// backoff spaces tries: doubling from 100 ms to 5 s, each shortened by up to
// half at random so that several callers do not come back together.
type backoff struct {
	end  time.Time
	next time.Duration
	n    int
}

const (
	firstDelay = 100 * time.Millisecond
	lastDelay  = 5 * time.Second
)

func newBackoff(limit time.Duration) *backoff {
	return &backoff{end: time.Now().Add(limit), next: firstDelay}
}

// wait waits for the next try, at least as long as the server asked for, and
// says whether there is to be one. The first is granted even when the try
// before it took all the time.
func (b *backoff) wait(ctx context.Context, atLeast time.Duration) bool {
	d := max(b.next/2+rand.N(b.next/2), atLeast)
	b.next = min(2*b.next, lastDelay)
	b.n++
	if left := time.Until(b.end); d > left && (b.n > 1 || atLeast > 0 && d > max(left, lastDelay)) {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
