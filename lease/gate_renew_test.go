package lease_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

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
