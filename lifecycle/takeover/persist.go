package takeover

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// longestPause is that before what failed is tried again.
const longestPause = 10 * time.Second

// persist does something again, with longer and longer pauses, as long as it fails for a
// reason that passes: for limit from the first failure on, and without an end for none.
// Each time it says what it waits for. What is done has to be such that it can be done
// again.
func (s *Session) persist(ctx context.Context, limit time.Duration, passing func(error) bool, do func(context.Context) error) error {
	began := time.Duration(-1) // until it fails
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do(ctx)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		now := s.Clock.Awake()
		if began < 0 {
			began = now
		}
		limit := s.patience(limit) // which may change meanwhile
		text := "it goes on when this has passed: " + err.Error()
		if limit > 0 {
			left := limit - (now - began)
			if left <= 0 {
				return err
			}
			pause = min(pause, left)
			text = fmt.Sprintf("it is tried again for %s: %v", left.Round(time.Second), err)
		}
		s.emit(Event{Type: EventWaiting, Reason: text})
		select {
		case <-s.Clock.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// firstPause is the shortest before what failed is tried again.
const firstPause = 500 * time.Millisecond

// passes says that an error is an outage: of the network, or of a server that does not
// answer, or has too much to do.
func passes(err error) bool {
	return kubeclient.Unavailable(err) && (!kubeclient.Refused(err) || apierrors.IsTooManyRequests(err))
}

// attempted says of an outage what was to be done meanwhile: which request failed says
// little to people.
func (s *Session) attempted(what string, err error) error {
	if !passes(err) {
		return err
	}
	return fmt.Errorf("%s target %q: %w", what, s.Lifecycle.Target, err)
}

// again says whether what failed may succeed later.
func again(err error) bool {
	return passes(err) || errors.Is(err, lease.ErrBusy) || errors.Is(err, journal.ErrConflict) || errors.Is(err, lease.ErrLost) || errors.Is(err, divert.ErrChanged)
}

// whileOurs does something that ends when one of the others does, and then returns why
// that ended.
func whileOurs(ctx context.Context, do func(context.Context) error, others ...context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, other := range others {
		if other != nil {
			defer context.AfterFunc(other, func() { cancel(context.Cause(other)) })()
		}
	}
	err := do(ctx)
	if err == nil {
		return nil
	}
	for _, other := range others {
		if why := causeOf(other); why != nil {
			return why
		}
	}
	return err
}

// causeOf is why a context has ended; nil for one that has not, and for none.
func causeOf(ctx context.Context) error {
	if ctx == nil {
		return nil
	}
	return context.Cause(ctx)
}

// endOf tells when a context ends; none never does.
func endOf(ctx context.Context) <-chan struct{} {
	if ctx == nil {
		return nil
	}
	return ctx.Done()
}
