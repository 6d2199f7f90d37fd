package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/lease"
)

// The gate cannot be opened: the record is released all the same, and that is
// said; another Release tries it again.
func TestReleaseLeavesTheGate(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(context.Context, lease.Claim) error{
		"fails": func(context.Context, lease.Claim) error { return errors.New("the server is away") },
		"hangs": func(ctx context.Context, _ lease.Claim) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		w := newWorld(t)
		d := newDoor()
		p := w.process(t, d)
		h := acquire(t, p.Manager, borrow)
		end := h.State().Expires
		p.fail("open", fault)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if name == "fails" {
			ctx = t.Context()
			if _, err := h.Open(ctx); err == nil || errors.Is(err, lease.ErrLost) {
				t.Errorf("Open: %v", err)
			}
			if err := h.Check(ctx); err != nil {
				t.Errorf("after an Open that failed: %v", err)
			}
		}
		if err := h.Release(ctx); !errors.Is(err, lease.ErrLeftClosed) || !strings.Contains(err.Error(), "opens by itself") {
			t.Errorf("%s: %v, want ErrLeftClosed", name, err)
		}
		if s := inspect(t, p.Manager); s.Held || s.Holder != "" {
			t.Errorf("%s: %+v, want it to be released", name, s)
		}
		if n := len(d.standing(end)); n != 1 {
			t.Errorf("%s: %d closed, want 1", name, n)
		}
		p.fail("open", nil)
		if err := h.Release(t.Context()); err != nil || len(d.closed) > 0 {
			t.Errorf("%s: another Release: %v, closed %+v", name, err, d.closed)
		}
	}
}

// A context that is over when Release begins leaves everything as it is, so that
// another Release finds the gate and the record.
func TestReleaseTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	h := acquire(t, p.Manager, borrow)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	w.stands(t, d, inspect(t, p.Manager))
	if err := h.Release(t.Context()); err != nil || len(d.closed) > 0 || inspect(t, p.Manager).Held {
		t.Errorf("%v, closed %+v", err, d.closed)
	}
}

// Another process takes up a borrowed lease, renews it and gives it back.
func TestResumeWithGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	first := acquire(t, w.process(t, d).Manager, lease.Request{Mode: lease.ModeBorrow, Covers: []string{"web", "db"}})
	p := w.process(t, d)
	h, err := p.Resume(t.Context(), first.Holder())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.RenewFor(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
	w.stands(t, d, h.State())
	if err := first.Renew(t.Context()); err != nil {
		t.Errorf("the first process: %v", err)
	}
	w.stands(t, d, first.State())
	if _, err := p.Retake(t.Context(), first.Holder()); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("Retake: %v, want ErrInvalid: the gate is closed for one token", err)
	}
	if err := h.Release(t.Context()); err != nil || len(d.closed) > 0 {
		t.Errorf("Release: %v, closed %+v", err, d.closed)
	}
	if err := first.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the first process: %v, want ErrLost", err)
	}
}

// Names that somebody writes into the record are not closed, nor looked for.
func TestCoversOfTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	h := acquire(t, p.Manager, borrow)
	w.edit(t, func(l *coordinationv1.Lease) { l.Annotations["pharos.dev/lease-covers"] = `["db"]` })
	if err := h.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Release(t.Context()); err != nil || len(d.closed) > 0 {
		t.Errorf("%v, closed %+v", err, d.closed)
	}
}

// Sweep opens what is left over, and nothing of who holds the lease. That it
// cannot does not hide who does.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	if s, r, err := w.manager(t).Sweep(t.Context()); err != nil || len(r.Opened) > 0 || s.Held {
		t.Errorf("without a gate: %+v, %+v, %v", s, r, err)
	}
	h := acquire(t, p.Manager, borrow)
	d.close(lease.Claim{Holder: "X", Token: first, Until: w.server.Now().Add(time.Hour)})
	d.close(lease.Claim{Holder: "Y", Token: first - 1, Until: w.server.Now().Add(time.Hour)})
	d.close(lease.Claim{Holder: "Z", Token: first + 1, Until: w.server.Now().Add(time.Hour)})
	other := w.process(t, d)
	s, r, err := other.Manager.Sweep(t.Context())
	if err != nil || len(r.Opened) != 2 || s.Holder != h.Holder() {
		t.Errorf("%+v, %+v, %v, want two opened", s, r, err)
	}
	if closed := d.standing(w.server.Now()); len(closed) != 2 || closed[0].Holder != h.Holder() || closed[1].Holder != "Z" {
		t.Errorf("closed is %+v, want that of the holder and that of a later one", closed)
	}
	other.fail("sweep", func(context.Context, lease.Claim) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "argoproj.io", Resource: "appprojects"}, "default", errors.New("no"))
	})
	s, _, err = other.Manager.Sweep(t.Context())
	var e *lease.Error
	if !apierrors.IsForbidden(err) || !errors.As(err, &e) || strings.Contains(err.Error(), "get, create and update leases") {
		t.Errorf("%v, want forbidden, and no advice about leases", err)
	}
	if s.Holder != h.Holder() {
		t.Errorf("%+v, want the state beside the error", s)
	}
}

// A lease that ran out 12 hours after its acquisition is judged by one call, by
// whoever did not watch it, and whatever their clock says.
func TestTwelveHours(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"in step": 0, "10 min fast": 10 * time.Minute, "10 min slow": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			r := borrow
			r.For = 12 * time.Hour
			holder := w.process(t, d, func(c *lease.Config) { c.Clock = skewed{w.server, -skew} })
			h := acquire(t, holder.Manager, r)
			w.stands(t, d, h.State())
			look := func() *process { return w.process(t, d, func(c *lease.Config) { c.Clock = skewed{w.server, skew} }) }

			w.server.advance(12*time.Hour + 5*time.Second) // the end and the grace
			s, report, err := look().Manager.Sweep(t.Context())
			if err != nil || !s.Held || !s.Acquired.Equal(s.Now.Add(-12*time.Hour-5*time.Second)) {
				t.Errorf("at the end of the grace: %+v, %+v, %v", s, report, err)
			}
			if _, err := look().Acquire(t.Context(), deliver); !errors.Is(err, lease.ErrHeld) {
				t.Errorf("at the end of the grace: %v, want ErrHeld", err)
			}
			w.server.advance(time.Second)
			if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("the holder's Renew: %v, want ErrLost", err)
			}
			if _, err := look().Break(t.Context(), hotfix); !errors.Is(err, lease.ErrNotHeld) {
				t.Errorf("Break of what ran out: %v, want ErrNotHeld", err)
			}
			if closed := d.closed; len(closed) > 0 {
				t.Errorf("closed is %+v", closed)
			}
			if _, err := look().Acquire(t.Context(), deliver); err != nil {
				t.Error(err)
			}
			holder.taken()
			if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("the holder's Renew: %v, want ErrLost", err)
			}
			did(t, holder, "renewing late")
		})
	}
}

// Who renews late does not close the gate for longer, however wrong its clock is.
func TestRenewLateWithGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	h := acquire(t, p.Manager, borrow)
	until := d.closed[0].Until
	w.server.advance(20 * time.Minute) // the machine slept, and its clock with it
	p.taken()
	if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	did(t, p, "renewing late", "GET")
	if !d.closed[0].Until.Equal(until) {
		t.Errorf("closed until %s, want %s", d.closed[0].Until, until)
	}
	if err := h.Release(t.Context()); err != nil || len(d.closed) > 0 {
		t.Errorf("Release: %v, closed %+v", err, d.closed)
	}
}

func TestRenewFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	start := w.server.Now()
	h := acquire(t, m, borrow)
	for _, tc := range []struct{ d, at, want time.Duration }{
		{10 * time.Minute, 0, 20 * time.Minute}, // never back
		{20 * time.Minute, time.Minute, 21 * time.Minute},
		{2 * time.Hour, time.Minute, 2*time.Hour + time.Minute},
		{12 * time.Hour, time.Hour, 12 * time.Hour}, // never past the max
		{time.Hour, 11*time.Hour + 30*time.Minute, 12 * time.Hour},
	} {
		w.server.advance(start.Add(tc.at).Sub(w.server.Now()))
		if err := h.RenewFor(t.Context(), tc.d); err != nil {
			t.Fatal(err)
		}
		if got := h.State().Expires.Sub(start); got != tc.want {
			t.Errorf("at %s for %s the end is at %s, want %s", tc.at, tc.d, got, tc.want)
		}
		if s := inspect(t, m); !cmp.Equal(s, h.State()) {
			t.Errorf("the holder knows %+v, the target %+v", h.State(), s)
		}
	}
	for _, d := range []time.Duration{0, -time.Hour, time.Second, time.Minute + 1, 13 * time.Hour, 100 * 365 * 24 * time.Hour} {
		if err := h.RenewFor(t.Context(), d); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("for %s: %v, want ErrInvalid", d, err)
		}
	}
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.RenewFor(t.Context(), time.Hour); !errors.Is(err, lease.ErrLost) {
		t.Errorf("after Release: %v, want ErrLost", err)
	}
	h = acquire(t, m, maintain)
	if err := h.RenewFor(t.Context(), time.Hour); err != nil || !h.State().Expires.IsZero() {
		t.Errorf("a lease that does not end: %v, %+v", err, h.State())
	}
}

// A lease that was taken up, or acquired for less than the mode's duration, is
// kept from the start.
func TestKeepTakesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	short := borrow
	short.For = time.Minute
	h := acquire(t, m, short)
	_, stop := h.Keep(t.Context())
	w.server.awaitTimer() // that of the second renewal
	if got := h.State().Expires; !got.Equal(w.server.Now().Add(20 * time.Minute)) {
		t.Errorf("the end is %s from now", got.Sub(w.server.Now()))
	}
	stop()
	w.server.advance(19 * time.Minute)
	again, err := m.Resume(t.Context(), h.Holder())
	if err != nil {
		t.Fatal(err)
	}
	lost, stop := again.Keep(t.Context())
	defer stop()
	w.server.awaitTimer()
	if got := again.State().Expires; !got.Equal(w.server.Now().Add(20 * time.Minute)) {
		t.Errorf("the end is %s from now", got.Sub(w.server.Now()))
	}
	select {
	case err := <-lost:
		t.Error(err)
	default:
	}
}
