package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/lease"
)

// What earlier holders left is swept whoever acquires; that it cannot be swept, or
// hangs, is written down and keeps nobody from working.
func TestAcquireSweeps(t *testing.T) {
	t.Parallel()
	for _, r := range []lease.Request{deliver, borrow, maintain} {
		w := newWorld(t)
		d := newDoor()
		left := lease.Claim{Holder: "X", Token: 3, Until: w.server.Now().Add(-time.Minute)}
		d.close(left)
		p := w.process(t, d)
		h := acquire(t, p.Manager, r)
		if slices.ContainsFunc(d.closed, func(c lease.Claim) bool { return c.Holder == "X" }) {
			t.Errorf("%s: what was left is still closed", r.Mode)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		for name, fault := range map[string]func(context.Context, lease.Claim) error{
			"forbidden": func(context.Context, lease.Claim) error {
				return apierrors.NewForbidden(schema.GroupResource{Group: "argoproj.io", Resource: "appprojects"}, "default", errors.New("no"))
			},
			"hanging": func(ctx context.Context, _ lease.Claim) error {
				<-ctx.Done()
				return ctx.Err()
			},
		} {
			var log bytes.Buffer
			p := w.process(t, d, func(c *lease.Config) {
				c.GateTimeout = 20 * time.Millisecond
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			p.fail("sweep", fault)
			h, err := p.Acquire(t.Context(), r)
			if err != nil {
				t.Errorf("%s, %s: %v", r.Mode, name, err)
				continue
			}
			if !strings.Contains(log.String(), "could not be opened") {
				t.Errorf("%s, %s: the log says %q", r.Mode, name, &log)
			}
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// Who gives up while the gate sweeps has no lease.
func TestAcquireInterruptedAtTheGate(t *testing.T) {
	t.Parallel()
	for _, r := range []lease.Request{deliver, borrow} {
		for _, step := range []string{"sweep", "close"} {
			if r.Mode == lease.ModeDeliver && step == "close" {
				continue
			}
			w := newWorld(t)
			d := newDoor()
			p := w.process(t, d)
			ctx, cancel := context.WithCancel(t.Context())
			p.fail(step, func(ctx context.Context, c lease.Claim) error {
				if step == "close" {
					d.close(c) // and the answer does not come
				}
				cancel()
				<-ctx.Done()
				return ctx.Err()
			})
			if _, err := p.Acquire(ctx, r); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: %v, want context.Canceled", r.Mode, step, err)
			}
			if s := inspect(t, w.manager(t)); s.Held || s.Holder != "" || len(d.standing(s.Now)) > 0 {
				t.Errorf("%s, %s: %+v, closed %+v", r.Mode, step, s, d.closed)
			}
		}
	}
}

// Whatever the gate cannot be closed for: the record is released again, and what
// was closed is opened.
func TestCloseFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("the project is not there")
	for name, tc := range map[string]struct {
		err  error
		half bool
	}{
		"busy":    {fmt.Errorf("%w: api is being synced", lease.ErrBusy), false},
		"failed":  {boom, false},
		"halfway": {boom, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			p := w.process(t, d)
			p.fail("close", func(_ context.Context, c lease.Claim) error {
				if tc.half {
					d.close(c)
				}
				return tc.err
			})
			_, err := p.Acquire(t.Context(), borrow)
			var e *lease.Error
			if !errors.Is(err, tc.err) || !errors.As(err, &e) || !strings.Contains(err.Error(), "acquire lease") || e.Advice != "" {
				t.Errorf("%v, want %v", err, tc.err)
			}
			did(t, p, "Acquire", "GET", "resolve", "GET", "POST", "PUT", "sweep", "GET", "close", "GET", "open", "PUT")
			if s := inspect(t, w.manager(t)); s.Held || s.Holder != "" || len(d.standing(s.Now)) > 0 {
				t.Errorf("%+v, closed %+v", s, d.closed)
			}

			p.fail("open", func(context.Context, lease.Claim) error { return errors.New("cannot open") })
			_, err = p.Acquire(t.Context(), borrow)
			if !errors.Is(err, tc.err) || !errors.Is(err, lease.ErrLeftClosed) || !strings.Contains(err.Error(), "cannot open") {
				t.Errorf("%v, want both errors", err)
			}
			if s := inspect(t, w.manager(t)); s.Held {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A gate that hangs is waited for no longer than the lease lasts.
func TestCloseHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	p.fail("close", func(ctx context.Context, c lease.Claim) error {
		d.close(c)
		<-ctx.Done()
		return ctx.Err()
	})
	_, err := p.Acquire(t.Context(), lease.Request{Mode: lease.ModeBorrow, For: 5 * time.Second, Wait: time.Hour})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "close the gate: it took longer than 2s") {
		t.Errorf("%v, want that the gate took too long", err)
	}
	if s := inspect(t, p.Manager); s.Held || len(d.closed) > 0 {
		t.Errorf("%+v, closed %+v", s, d.closed)
	}
}

// While the gate waits, the lease does not end: it is renewed as often as needed,
// and the gate is closed until its end when it is closed at last.
func TestAcquireWaitsForTheGate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		request lease.Request
		busy    time.Duration
	}{
		"in one go":   {waiting(borrow, time.Hour), time.Minute},
		"long":        {waiting(borrow, time.Hour), 45 * time.Minute},
		"short lease": {lease.Request{Mode: lease.ModeBorrow, For: 10 * time.Second, Wait: time.Hour}, 5 * time.Minute},
		"just enough": {waiting(borrow, 10*time.Minute), 10*time.Minute - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.server.jumps = true
			d := newDoor()
			p := w.process(t, d, func(c *lease.Config) { c.Clock = w.server })
			free := w.server.Now().Add(tc.busy)
			p.fail("close", func(_ context.Context, c lease.Claim) error {
				if s := inspect(t, w.manager(t)); !s.Held || s.Expires.Sub(s.Now) <= 3*time.Second || !c.Until.Equal(s.Expires.Add(10*time.Second)) || !c.Now.Equal(s.Now) {
					t.Errorf("closed until %s, now %s, under %+v", c.Until, c.Now, s)
				}
				wait := min(c.Wait, max(0, free.Sub(w.server.Now())))
				w.server.advance(wait)
				if w.server.Now().Before(free) {
					return lease.ErrBusy
				}
				return nil
			})
			h := acquire(t, p.Manager, tc.request)
			w.stands(t, d, h.State())
			if err := h.Check(t.Context()); err != nil {
				t.Error(err)
			}
			if waited := w.server.Now().Sub(free); waited < 0 || waited > time.Second {
				t.Errorf("acquired %s after it was free", waited)
			}
		})
	}
}

func TestAcquireWaitsInVain(t *testing.T) {
	t.Parallel()
	for name, impatient := range map[string]bool{"a gate that waits": false, "a gate that is busy at once": true} {
		w := newWorld(t)
		w.server.jumps = true
		d := newDoor()
		p := w.process(t, d, func(c *lease.Config) { c.Clock = w.server })
		start := w.server.Now()
		p.fail("close", func(_ context.Context, c lease.Claim) error {
			if !impatient {
				w.server.advance(c.Wait)
			}
			return fmt.Errorf("%w: api is being synced", lease.ErrBusy)
		})
		_, err := p.Acquire(t.Context(), waiting(borrow, 30*time.Minute))
		if waited := w.server.Now().Sub(start); !errors.Is(err, lease.ErrBusy) || waited != 30*time.Minute {
			t.Errorf("%s: %v after %s, want ErrBusy after 30 min", name, err, waited)
		}
		if s := inspect(t, p.Manager); s.Held || len(d.standing(s.Now)) > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A lease that is broken while its gate is being closed is not acquired, though
// the gate closes after whoever broke it has swept.
func TestBrokenWhileClosing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p, other := w.process(t, d), w.process(t, d)
	p.fail("close", func(ctx context.Context, c lease.Claim) error {
		if err := c.Guard(ctx); err != nil {
			return err
		}
		if _, err := other.Break(ctx, hotfix); err != nil {
			t.Error(err)
		}
		d.close(c) // the write that was on its way
		return errDone
	})
	_, err := p.Acquire(t.Context(), borrow)
	if !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "ann@laptop broke it") {
		t.Errorf("%v, want ErrLost that says who broke it", err)
	}
	if closed := d.standing(w.server.Now()); len(closed) > 0 {
		t.Errorf("left closed: %+v", closed)
	}
}
