package registry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// retry says how often an operation is tried, and how long it rests in between.
type retry struct {
	attempts int
	// first is the first rest; each later one is twice as long, and jitter
	// adds up to half.
	first time.Duration
	// longest bounds a rest that a registry asks for with Retry-After. One that
	// asks for more than all rests may be is not asked again.
	longest time.Duration
}

// defaultRetry gives up after about eight seconds, if the registry does not
// name a time itself.
var defaultRetry = retry{attempts: 5, first: 500 * time.Millisecond, longest: 30 * time.Second}

// do calls f until it succeeds, fails for good, or ctx ends.
func (r retry) do(ctx context.Context, log *slog.Logger, op string, f func(context.Context) error) error {
	for attempt, rest := 1, r.first; ; attempt, rest = attempt+1, 2*rest {
		h := &hint{}
		err := f(context.WithValue(ctx, hintKey{}, h))
		if err == nil || ctx.Err() != nil || attempt == r.attempts || !worthRetrying(err) {
			return err
		}
		wait := max(rest+rand.N(rest/2+1), min(h.get(), r.longest))
		if h.get() > r.longest*time.Duration(r.attempts-attempt) || endsWithin(ctx, wait) {
			return err // it would only be the same later, or lost
		}
		log.DebugContext(ctx, "trying again", "op", op, "attempt", attempt, "in", wait, "error", describe(err))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// endsWithin says whether a context's deadline comes before a rest is over.
func endsWithin(ctx context.Context, rest time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < rest
}

// worthRetrying says whether an error may go away by itself. A host that cannot
// be reached at all is not waited for: a person should hear of it.
func worthRetrying(err error) bool {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return answer.StatusCode == http.StatusRequestTimeout ||
			answer.StatusCode == http.StatusTooManyRequests ||
			answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	for _, broken := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		// The login of another caller that gave up: it is shared.
		context.Canceled,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}
