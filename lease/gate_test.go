package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

// did compares the steps that a process has taken since the last time.
func did(t *testing.T, p *process, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, p.taken()); diff != "" {
		t.Errorf("%s took the steps (want -, got +):\n%s", what, diff)
	}
}

// stands compares what is closed, and until when, with the lease that it stands
// for.
func (w *world) stands(t *testing.T, d *door, s lease.State) {
	t.Helper()
	closed := d.standing(w.server.Now())
	if len(closed) != 1 || closed[0].Holder != s.Holder || closed[0].Token != s.Token || !closed[0].Until.Equal(s.Expires.Add(10*time.Second)) {
		t.Errorf("closed is %+v, want it to be for %+v", closed, s)
	}
}

// pass lets time pass for the server and the machine of a process.
func (w *world) pass(p *process, d time.Duration) {
	w.server.advance(d)
	p.clock.advance(d)
}

// The order of everything: the record first where a lease is taken, the gate
// first where its end is moved or it is given back. Each step of the gate follows
// a look at the record.
func TestGateOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	start := w.server.Now()

	h := acquire(t, p.Manager, lease.Request{Mode: lease.ModeBorrow, User: "bob@desk", Purpose: "debug"})
	did(t, p, "Acquire", "GET", "resolve", "GET", "POST", "PUT", "sweep", "GET", "close", "GET", "GET")
	s := h.State()
	if diff := cmp.Diff([]string{"api", "db", "web"}, s.Covers); diff != "" {
		t.Errorf("the record does not name what is covered:\n%s", diff)
	}
	w.stands(t, d, s)
	if diff := cmp.Diff(lease.Claim{
		Namespace: w.namespace, Name: "pharos-devbox", Target: "devbox", Holder: h.Holder(), Token: first,
		User: "bob@desk", Purpose: "debug", Covers: []string{"api", "db", "web"},
		Now: start, Until: start.Add(20*time.Minute + 10*time.Second),
	}, d.standing(start)[0], cmpopts.IgnoreFields(lease.Claim{}, "Guard")); diff != "" {
		t.Error(diff)
	}

	w.pass(p, 5*time.Minute)
	for _, what := range []string{"Renew", "Renew once more"} {
		if err := h.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if what == "Renew" {
			did(t, p, what, "GET", "extend", "GET", "PUT")
		} else {
			did(t, p, what, "GET", "extend", "GET")
		}
		w.stands(t, d, h.State())
	}
	if err := h.RenewFor(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	did(t, p, "RenewFor", "GET", "extend", "GET", "PUT")
	w.stands(t, d, h.State())

	r, err := h.Open(t.Context())
	if err != nil || len(r.Opened) != 1 || len(r.Pending) != 3 {
		t.Errorf("Open: %+v, %v", r, err)
	}
	did(t, p, "Open", "GET", "open")
	w.pass(p, time.Minute)
	if err := h.RenewFor(t.Context(), time.Hour); err != nil {
		t.Errorf("after Open the record is renewed alone: %v", err)
	}
	did(t, p, "RenewFor after Open", "GET", "PUT")
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	p.taken()
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	did(t, p, "Release after Open", "PUT")

	h = acquire(t, p.Manager, lease.Request{Mode: lease.ModeBorrow, Covers: []string{"web", "api"}})
	did(t, p, "the second Acquire", "GET", "resolve", "GET", "PUT", "sweep", "GET", "close", "GET", "GET")
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	did(t, p, "Release", "GET", "open", "PUT")
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if closed := d.standing(start); len(closed) > 0 {
		t.Errorf("left closed: %+v", closed)
	}
	p.taken()

	for _, r := range []lease.Request{deliver, maintain} {
		h = acquire(t, p.Manager, r)
		did(t, p, string(r.Mode), "GET", "PUT", "sweep")
		if err := h.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		if r, err := h.Open(t.Context()); err != nil || len(r.Opened) > 0 {
			t.Errorf("Open: %+v, %v", r, err)
		}
		p.taken()
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		did(t, p, "Release in mode "+string(r.Mode), "PUT")
	}

	acquire(t, p.Manager, borrow)
	p.taken()
	if _, err := p.Break(t.Context(), hotfix); err != nil {
		t.Error(err)
	}
	did(t, p, "Break", "GET", "PUT", "sweep")
	if closed := d.standing(start); len(closed) > 0 {
		t.Errorf("left closed: %+v", closed)
	}
	if _, _, err := p.Manager.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	did(t, p, "Sweep", "GET", "sweep")
}

// What the target does not have is refused before anything is written; while
// somebody else holds the lease, that is what is said.
func TestCoversAreResolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.process(t, newDoor())
	unknown := lease.Request{Mode: lease.ModeBorrow, Covers: []string{"cache"}}
	if _, err := p.Acquire(t.Context(), unknown); !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), `no "cache"`) {
		t.Errorf("%v, want ErrInvalid", err)
	}
	did(t, p, "Acquire", "GET", "resolve")
	acquire(t, p.Manager, deliver)
	if _, err := p.Acquire(t.Context(), unknown); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("%v, want ErrHeld", err)
	}
	for name, names := range map[string][]string{"nothing": nil, "control characters": {"a\x1b[2J"}, "too many": {strings.Repeat("a", 70_000)}} {
		w := newWorld(t)
		p := w.process(t, &door{names: names})
		if _, err := p.Acquire(t.Context(), borrowAll); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("a gate that names %s: %v, want ErrInvalid", name, err)
		}
		did(t, p, "Acquire", "GET", "resolve")
	}
}

var borrowAll = lease.Request{Mode: lease.ModeBorrow, User: "bob@desk"}

// Names that were looked up before a long wait are looked up again after it.
func TestCoversAreResolvedAfterWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	var old *lease.Held
	resolved := 0
	p.fail("resolve", func(ctx context.Context, _ lease.Claim) error {
		// Somebody is faster, and the target changes while they have it.
		if resolved++; resolved == 1 {
			old = acquire(t, w.manager(t), deliver)
			d.names = []string{"new"}
		}
		return nil
	})
	config := w.config(w.server)
	p2 := w.process(t, d, func(c *lease.Config) {
		c.REST = afterwards(config.REST, func(*http.Request) {
			if old != nil {
				if err := old.Release(context.Background()); err != nil {
					t.Error(err)
				}
				old = nil
			}
		})
		c.Gate = p
	})
	h := acquire(t, p2.Manager, waiting(borrowAll, time.Minute))
	if diff := cmp.Diff([]string{"new"}, h.State().Covers); diff != "" || resolved != 2 {
		t.Errorf("resolved %d times, and covers:\n%s", resolved, diff)
	}
}

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

// Who opens the gate behind the holder's back: the next renewal is a loss, also
// when the end cannot move any more, and Release still gives the record back.
func TestGateOpened(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		meddle func(*door)
		at     time.Duration
	}{
		"opened":     {(*door).reset, 5 * time.Minute},
		"changed":    {func(d *door) { d.closed[0].Covers = []string{"db"} }, 5 * time.Minute},
		"at the max": {(*door).reset, 12*time.Hour - time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			var log bytes.Buffer
			p := w.process(t, d, func(c *lease.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			r := borrow
			r.For = 12 * time.Hour
			h := acquire(t, p.Manager, r)
			w.pass(p, tc.at)
			if err := h.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.meddle(d)
			before := w.object(t)
			err := h.Renew(t.Context())
			var lost *lease.LostError
			if !errors.Is(err, lease.ErrLost) || !errors.Is(err, lease.ErrOpened) || !errors.As(err, &lost) || !strings.Contains(lost.Reason, "mallory@desk removed") {
				t.Errorf("%v, want ErrLost, ErrOpened, and who did so", err)
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "mallory@desk") {
				t.Errorf("the log says %q", &log)
			}
			if diff := cmp.Diff(before, w.object(t)); diff != "" {
				t.Errorf("the record was changed:\n%s", diff)
			}
			for call, f := range map[string]func(context.Context) error{"Check": h.Check, "Renew": h.Renew} {
				if err := f(t.Context()); !errors.Is(err, lease.ErrOpened) {
					t.Errorf("%s afterwards: %v", call, err)
				}
			}
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if s := inspect(t, p.Manager); s.Held || len(d.closed) > 0 {
				t.Errorf("%+v, closed %+v", s, d.closed)
			}
		})
	}
}

func TestKeepReportsAnOpenedGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d, func(c *lease.Config) { c.Clock = w.server })
	h := acquire(t, p.Manager, borrow)
	lost, stop := h.Keep(t.Context())
	defer stop()
	w.keeping(5 * time.Minute)
	w.server.awaitTimer()
	w.stands(t, d, h.State())
	d.reset()
	w.server.advance(5 * time.Minute)
	if err := <-lost; !errors.Is(err, lease.ErrOpened) || !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want ErrLost and ErrOpened", err)
	}
}

// A gate that fails, or hangs, is no loss: the record stays as it was, and the
// next renewal moves both.
func TestExtendFails(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(context.Context, lease.Claim) error{
		"fails": func(context.Context, lease.Claim) error { return errors.New("the server is away") },
		"hangs": func(ctx context.Context, _ lease.Claim) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			p := w.process(t, d, func(c *lease.Config) {
				if name == "hangs" {
					c.GateTimeout = 50 * time.Millisecond
				}
			})
			h := acquire(t, p.Manager, borrow)
			w.pass(p, 5*time.Minute)
			before := h.State()
			p.fail("extend", fault)
			err := h.Renew(t.Context())
			var e *lease.Error
			if !errors.As(err, &e) || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "extend the gate") {
				t.Errorf("%v, want a *lease.Error and not ErrLost", err)
			}
			if s := inspect(t, p.Manager); !s.Expires.Equal(before.Expires) {
				t.Errorf("the record was moved to %s", s.Expires)
			}
			w.stands(t, d, before)
			if err := h.Check(t.Context()); err != nil {
				t.Error(err)
			}
			again, err := w.process(t, d).Resume(t.Context(), h.Holder())
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Renew(t.Context()); err != nil {
				t.Error(err)
			}
			if s := again.State(); !s.Expires.Equal(before.Expires.Add(5 * time.Minute)) {
				t.Errorf("the end is %s", s.Expires)
			}
			w.stands(t, d, again.State())
		})
	}
}

// Keep tries a gate in trouble again until the lease ends.
func TestKeepThroughTroubleOfTheGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d, func(c *lease.Config) { c.Clock = w.server })
	h := acquire(t, p.Manager, borrow)
	end := h.State().Expires
	lost, stop := h.Keep(t.Context())
	defer stop()
	p.fail("extend", func(context.Context, lease.Claim) error { return errors.New("the server is away") })
	w.keeping(5 * time.Minute)
	for range 3 {
		w.keeping(time.Second)
	}
	w.server.awaitTimer()
	p.fail("extend", nil)
	w.server.advance(time.Second)
	w.server.awaitTimer()
	if s := h.State(); !s.Expires.After(end) {
		t.Errorf("the end is still %s", end)
	}
	w.stands(t, d, h.State())
	p.fail("extend", func(context.Context, lease.Claim) error { return errors.New("the server is away") })
	go func() {
		<-lost
		w.server.end()
	}()
	for w.server.awaitTimer() {
		w.server.advance(10 * time.Second)
	}
	if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
}

// A renewal whose gate hangs holds up neither the end of Keep nor a Release that
// gives up: nothing is done half.
func TestRenewalHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d, func(c *lease.Config) { c.Clock = w.server })
	h := acquire(t, p.Manager, borrow)
	hangs := make(chan struct{})
	p.fail("extend", func(ctx context.Context, _ lease.Claim) error {
		close(hangs)
		<-ctx.Done()
		return ctx.Err()
	})
	lost, stop := h.Keep(t.Context())
	w.keeping(5 * time.Minute)
	<-hangs
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for call, f := range map[string]func(context.Context) error{
		"Release": h.Release, "Renew": h.Renew,
		"Open": func(ctx context.Context) error { _, err := h.Open(ctx); return err },
	} {
		if err := f(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: %v, want its timeout", call, err)
		}
	}
	stop()
	if err, ok := <-lost; ok {
		t.Errorf("lost: %v", err)
	}
	w.stands(t, d, h.State())
	p.fail("extend", nil)
	if err := h.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Release(t.Context()); err != nil || len(d.closed) > 0 {
		t.Errorf("%v, closed %+v", err, d.closed)
	}
}

// The write of the record fails after the gate was extended: the gate stays
// closed for longer, and the next renewal agrees with it.
func TestRecordFailsAfterExtend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	proxy, err := faultproxy.ForCluster(w.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	p := w.process(t, d, func(c *lease.Config) { c.REST = withServerTime(proxy.Config(w.cluster.Config()), w.server.Now) })
	h := acquire(t, p.Manager, borrow)
	end := h.State().Expires
	w.pass(p, 5*time.Minute)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPut, Do: faultproxy.Answer(http.StatusInternalServerError)})
	if err := h.Renew(t.Context()); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want an error that is no loss", err)
	}
	fault.Remove()
	if s := inspect(t, p.Manager); !s.Expires.Equal(end) {
		t.Errorf("the record ends at %s, want %s", s.Expires, end)
	}
	if closed := d.standing(w.server.Now()); len(closed) != 1 || !closed[0].Until.Equal(end.Add(5*time.Minute+10*time.Second)) {
		t.Errorf("closed is %+v", closed)
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	w.stands(t, d, h.State())
}

// Whatever goes wrong once with a call of the API, a borrowed lease is acquired,
// renewed, opened and released as if it had not.
func TestGateFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"409":        {Do: faultproxy.Answer(http.StatusConflict)},
		"409 done":   {Do: faultproxy.Answer(http.StatusConflict), AfterUpstream: true},
		"500":        {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"500 done":   {Do: faultproxy.Answer(http.StatusInternalServerError), AfterUpstream: true},
		"429":        {Do: faultproxy.TooManyRequests(time.Second)},
		"cut":        {Do: faultproxy.Cut()},
		"answer cut": {Do: faultproxy.Cut(), AfterUpstream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			proxy, err := faultproxy.ForCluster(w.cluster.Config())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			p := w.process(t, d, func(c *lease.Config) { c.REST = withServerTime(proxy.Config(w.cluster.Config()), w.server.Now) })
			// once has the next write fail once.
			once := func(method string) *faultproxy.Fault {
				rule := rule
				rule.Method, rule.Times = method, 1
				return proxy.Add(rule)
			}
			fault := once(http.MethodPost)
			h := acquire(t, p.Manager, borrow)
			w.stands(t, d, h.State())
			hits := fault.Hits()

			w.pass(p, time.Minute)
			fault = once(http.MethodPut)
			if err := h.Renew(t.Context()); err != nil {
				t.Errorf("Renew: %v", err)
			}
			w.stands(t, d, h.State())
			hits += fault.Hits()

			w.pass(p, time.Minute)
			fault = once(http.MethodPut)
			if err := h.RenewFor(t.Context(), time.Hour); err != nil {
				t.Errorf("RenewFor: %v", err)
			}
			w.stands(t, d, h.State())
			hits += fault.Hits()

			fault = once(http.MethodPut)
			if err := h.Release(t.Context()); err != nil {
				t.Errorf("Release: %v", err)
			}
			hits += fault.Hits()
			if s := inspect(t, p.Manager); s.Held || len(d.standing(s.Now)) > 0 {
				t.Errorf("%+v, closed %+v", s, d.closed)
			}

			acquire(t, p.Manager, borrow)
			fault = once(http.MethodPut)
			if _, err := p.Break(t.Context(), hotfix); err != nil {
				t.Errorf("Break: %v", err)
			}
			hits += fault.Hits()
			if s := inspect(t, p.Manager); !over(s) || len(d.standing(s.Now)) > 0 {
				t.Errorf("%+v, closed %+v", s, d.closed)
			}
			if hits != 5 {
				t.Errorf("%d calls failed, want 5", hits)
			}
		})
	}
}

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
