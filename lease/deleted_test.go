package lease_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// Somebody deletes the Lease while the target is borrowed. Whatever comes next opens
// the gate, whose end may be hours away, and the next holder has a higher token.
func TestDeletedWhileBorrowed(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(context.Context, *process) error{
		"sweep": func(ctx context.Context, p *process) error {
			_, r, err := p.Manager.Sweep(ctx)
			if err == nil && len(r.Opened) != 1 {
				err = errors.New("nothing was opened")
			}
			return err
		},
		"break": func(ctx context.Context, p *process) error {
			if r, err := p.Break(ctx, hotfix); !errors.Is(err, lease.ErrNotHeld) || len(r.Opened) != 1 {
				return errors.Join(errors.New("want ErrNotHeld, and what was opened"), err)
			}
			return nil
		},
		"acquire": func(context.Context, *process) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			long := borrow
			long.For = 12 * time.Hour
			h := acquire(t, w.process(t, d).Manager, long)
			w.server.advance(time.Minute)
			w.delete(t)
			p := w.process(t, d)
			if err := next(t.Context(), p); err != nil {
				t.Error(err)
			}
			then := acquire(t, p.Manager, deliver)
			if then.Token() <= h.Token() {
				t.Errorf("the token was %d, and is %d now", h.Token(), then.Token())
			}
			if left := d.standing(w.server.Now()); len(left) > 0 {
				t.Errorf("left closed: %+v", left)
			}
			if _, err := p.Resume(t.Context(), h.Holder()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("Resume of the holder: %v, want ErrLost", err)
			}
			if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("Renew of the holder: %v, want ErrLost", err)
			}
		})
	}
}

// The holder whose Lease was deleted is told so, and not that it was released.
func TestResumeOfADeletedLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	h := acquire(t, m, borrow)
	w.delete(t)
	if _, err := m.Resume(t.Context(), h.Holder()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "it was deleted") {
		t.Errorf("%v, want that it was deleted", err)
	}
}

// A sweep that found no Lease leaves alone whoever creates one before it opens
// anything, also by an API server whose clock is behind by the grace.
func TestSweepBeforeTheLeaseIsCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	var h *lease.Held
	p := w.process(t, d)
	p.fail("sweep", func(context.Context, lease.Claim) error {
		w.server.advance(-5 * time.Second)
		h = acquire(t, w.process(t, d).Manager, borrow)
		return nil
	})
	if _, r, err := p.Manager.Sweep(t.Context()); err != nil || len(r.Opened) > 0 {
		t.Errorf("%+v, %v, want nothing opened", r, err)
	}
	w.stands(t, d, h.State())
}

// Who is about to create the Lease may be held up for as long as it likes: its token
// is of a time at which the Lease was there.
func TestCreatedLate(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			createdLate(t, method)
		})
	}
}

func createdLate(t *testing.T, method string) {
	w := newWorld(t)
	d := newDoor()
	sweeping, acquired, swept := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	sweeper := w.process(t, d)
	sweeper.fail("sweep", func(context.Context, lease.Claim) error {
		close(sweeping) // it has read that there is no Lease, or none that was acquired
		<-acquired
		return nil
	})
	var once sync.Once
	p := w.process(t, d, onRequest(func(r *http.Request) *http.Response {
		if r.Method == method {
			once.Do(func() {
				w.server.advance(time.Minute)
				go func() {
					_, r, err := sweeper.Manager.Sweep(t.Context())
					if err == nil && len(r.Opened) > 0 {
						err = fmt.Errorf("it opened %q", r.Opened)
					}
					swept <- err
				}()
				<-sweeping
			})
		}
		return nil
	}))
	h := acquire(t, p.Manager, borrow)
	close(acquired)
	if err := <-swept; err != nil {
		t.Errorf("Sweep: %v", err)
	}
	w.stands(t, d, h.State())
}

// That a server does not know Leases is not that there is none: what a holder has
// closed would be taken for left over.
func TestLeasesThatAreNotServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	h := acquire(t, w.process(t, d).Manager, borrow)
	w.server.advance(time.Minute)
	p := w.process(t, d, onRequest(func(r *http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}, "Date": {w.server.Now().Format(http.TimeFormat)}},
			Body: io.NopCloser(strings.NewReader("404 page not found\n")), Request: r}
	}))
	var e *lease.Error
	if _, r, err := p.Manager.Sweep(t.Context()); !errors.As(err, &e) || len(r.Opened) > 0 {
		t.Errorf("%+v, %v, want an Error, and nothing opened", r, err)
	}
	w.stands(t, d, h.State())
}

// onRequest asks for an answer before a request goes out; nil lets it go out.
func onRequest(answer func(*http.Request) *http.Response) func(*lease.Config) {
	return func(c *lease.Config) {
		c.REST.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if resp := answer(r); resp != nil {
					return resp, nil
				}
				return next.RoundTrip(r)
			})
		})
	}
}
