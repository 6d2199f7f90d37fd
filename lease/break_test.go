package lease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

var hotfix = lease.BreakRequest{User: "ann@laptop", Reason: "a hotfix has to go out"}

// over says that nobody has the lease, though it may not be free before the grace.
func over(s lease.State) bool {
	return !s.Held || s.Broken != nil && s.Broken.Holder == s.Holder
}

// broke breaks the lease.
func broke(t *testing.T, m *lease.Manager, r lease.BreakRequest) lease.Report {
	t.Helper()
	report, err := m.Break(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The old holder learns who broke its lease and why, also when others have
// acquired it since, until the lease is broken again.
func TestBreak(t *testing.T) {
	t.Parallel()
	for _, r := range []lease.Request{deliver, borrow, maintain} {
		t.Run(string(r.Mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := newDoor()
			p := w.process(t, d)
			h := acquire(t, p.Manager, r)
			resumed, err := p.Resume(t.Context(), h.Holder())
			if err != nil {
				t.Fatal(err)
			}
			w.pass(p, 10*time.Second)
			at := w.server.Now()
			other := w.process(t, d)
			report := broke(t, other.Manager, hotfix)
			if want := r.Mode == lease.ModeBorrow; (len(report.Opened) == 1) != want || len(d.closed) > 0 {
				t.Errorf("%+v, closed %+v", report, d.closed)
			}
			want := &lease.Broken{By: "ann@laptop", Reason: "a hotfix has to go out", At: at, Holder: h.Holder(), User: r.User, Token: first}
			if s := inspect(t, other.Manager); !cmp.Equal(s.Broken, want) || !s.Expires.Equal(at.Add(time.Second)) {
				t.Errorf("%+v, want it to end, and %+v", s, want)
			}

			// What its holder has checked may be on its way: as after any end,
			// others wait for the grace.
			_, err = other.Acquire(t.Context(), deliver)
			if !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "was broken by ann@laptop at") {
				t.Errorf("at once: %v, want ErrHeld", err)
			}
			w.pass(p, 6*time.Second)
			if s := inspect(t, other.Manager); !s.Held {
				t.Errorf("at the end of the grace: %+v", s)
			}
			w.pass(p, time.Second)
			next := acquire(t, other.Manager, deliver)
			if next.Token() != first+1 || !cmp.Equal(next.State().Broken, want) {
				t.Errorf("the next acquisition has %+v", next.State())
			}
			says := "ann@laptop broke it at " + at.Format(time.RFC3339) + ": a hotfix has to go out"
			for call, f := range map[string]func(context.Context) error{
				"Check": h.Check, "Renew": resumed.Renew,
				"Resume": func(ctx context.Context) error { _, err := p.Resume(ctx, h.Holder()); return err },
			} {
				err := f(t.Context())
				var lost *lease.LostError
				if !errors.Is(err, lease.ErrLost) || !errors.As(err, &lost) || lost.Reason != says {
					t.Errorf("%s: %v, want ErrLost that says %q", call, err, says)
				}
			}
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if err := next.Check(t.Context()); err != nil {
				t.Errorf("the next holder: %v", err)
			}
			if err := next.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if s := inspect(t, p.Manager); s.Held || !cmp.Equal(s.Broken, want) {
				t.Errorf("after a release: %+v", s)
			}

			third := acquire(t, other.Manager, borrow)
			broke(t, p.Manager, lease.BreakRequest{User: "eve@desk", Reason: "again"})
			if err := third.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "eve@desk broke it") {
				t.Errorf("the third holder: %v", err)
			}
			if _, err := p.Resume(t.Context(), h.Holder()); !errors.Is(err, lease.ErrLost) || strings.Contains(err.Error(), "ann@laptop") {
				t.Errorf("the first holder, of whom the record says nothing any more: %v", err)
			}
		})
	}
}

// Breaking takes the documented rights and no others.
func TestBreakRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acquire(t, w.manager(t), maintain)
	config := w.config(w.server)
	for _, verbs := range [][]string{{"get"}, {"get", "create", "update"}} {
		user, name := devtest.User(t, w.cluster, w.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: verbs,
		}}})
		config.REST = withServerTime(user, w.server.Now)
		_, err := manager(t, config).Break(t.Context(), hotfix)
		if len(verbs) > 1 {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		var e *lease.Error
		if !apierrors.IsForbidden(err) || !errors.As(err, &e) || e.Advice == "" || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want who is forbidden what, and what to do", err)
		}
		if s := inspect(t, w.manager(t)); over(s) {
			t.Errorf("%+v", s)
		}
	}
}

func TestBreakReportsToKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.process(t, newDoor(), func(c *lease.Config) { c.Clock = w.server })
	h := acquire(t, p.Manager, borrow)
	lost, stop := h.Keep(t.Context())
	defer stop()
	w.server.awaitTimer()
	broke(t, w.manager(t), hotfix)
	w.server.advance(5 * time.Minute)
	if err := <-lost; !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "ann@laptop broke it") {
		t.Errorf("%v, want ErrLost that says who broke it", err)
	}
}

// A renewal that is under way finds the gate open: what it says is who broke the
// lease.
func TestBreakDuringRenewal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p, other := w.process(t, d), w.process(t, d)
	h := acquire(t, p.Manager, borrow)
	p.fail("extend", func(ctx context.Context, c lease.Claim) error {
		if err := c.Guard(ctx); err != nil {
			return err
		}
		broke(t, other.Manager, hotfix)
		return d.extend(c)
	})
	if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "ann@laptop broke it") {
		t.Errorf("%v, want ErrLost that says who broke it", err)
	}
}

func TestBreakRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	h := acquire(t, p.Manager, borrow)
	p.taken()
	for name, tc := range map[string]struct {
		request lease.BreakRequest
		want    string
	}{
		"nothing":  {lease.BreakRequest{}, "User is required"},
		"reason":   {lease.BreakRequest{User: "ann@laptop", Reason: " \t"}, "Reason is required"},
		"lines":    {lease.BreakRequest{User: "ann@laptop", Reason: "a\nb"}, "Reason is not one line"},
		"long":     {lease.BreakRequest{User: strings.Repeat("a", 257), Reason: "a"}, "User is not one line"},
		"encoding": {lease.BreakRequest{User: "ann", Reason: "\xff"}, "Reason is not one line"},
	} {
		if _, err := p.Break(t.Context(), tc.request); !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want ErrInvalid that says %q", name, err, tc.want)
		}
	}
	did(t, p, "what is refused")

	other := hotfix
	other.Holder = "somebody"
	_, err := p.Break(t.Context(), other)
	var held *lease.HeldError
	if !errors.As(err, &held) || held.State.Holder != h.Holder() || !strings.Contains(err.Error(), "held by bob@desk") {
		t.Errorf("another holder: %v, want who it is", err)
	}
	did(t, p, "what is held by another", "GET")
	w.stands(t, d, inspect(t, p.Manager))

	other.Holder = h.Holder()
	broke(t, p.Manager, other)
	if _, err := p.Break(t.Context(), other); !errors.Is(err, lease.ErrNotHeld) || !strings.Contains(err.Error(), "ann@laptop broke it") {
		t.Errorf("once more: %v, want ErrNotHeld", err)
	}
}

// What nobody holds cannot be broken, but what is left over is swept.
func TestBreakOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	if _, err := p.Break(t.Context(), hotfix); !errors.Is(err, lease.ErrNotHeld) {
		t.Errorf("a lease that never was: %v, want ErrNotHeld", err)
	}
	h := acquire(t, p.Manager, borrow)
	w.pass(p, 20*time.Minute+6*time.Second)
	r, err := p.Break(t.Context(), hotfix)
	if !errors.Is(err, lease.ErrNotHeld) || !strings.Contains(err.Error(), "that of bob@desk ran out") || len(r.Opened) != 1 {
		t.Errorf("a lease that ran out: %+v, %v, want ErrNotHeld", r, err)
	}
	if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) || strings.Contains(err.Error(), "broke") {
		t.Errorf("its holder: %v", err)
	}
	d.close(lease.Claim{Holder: "X", Token: 1, Until: w.server.Now().Add(time.Hour)})
	p.fail("sweep", func(context.Context, lease.Claim) error { return errors.New("the server is away") })
	if _, err := p.Break(t.Context(), hotfix); !errors.Is(err, lease.ErrNotHeld) || !errors.Is(err, lease.ErrLeftClosed) {
		t.Errorf("%v, want ErrNotHeld and ErrLeftClosed", err)
	}
}

// The gate cannot be opened: the lease is broken all the same, and that is said.
func TestBreakLeavesTheGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	h := acquire(t, p.Manager, borrow)
	p.fail("sweep", func(context.Context, lease.Claim) error { return errors.New("the server is away") })
	if _, err := p.Break(t.Context(), hotfix); !errors.Is(err, lease.ErrLeftClosed) || !strings.Contains(err.Error(), "the server is away") {
		t.Errorf("%v, want ErrLeftClosed", err)
	}
	if s := inspect(t, p.Manager); !over(s) {
		t.Errorf("%+v, want it to be broken", s)
	}
	if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	p.fail("sweep", nil)
	if _, r, err := p.Manager.Sweep(t.Context()); err != nil || len(r.Opened) != 1 {
		t.Errorf("%+v, %v, want what was left to be opened", r, err)
	}
}

// A Lease that something else wrote, and that has no end, can be broken.
func TestBreakForeignLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	if err := acquire(t, m, deliver).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.edit(t, func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity = ptr.To("contr\x1b[2Joller")
		l.Annotations = map[string]string{"pharos.dev/lease-user": strings.Repeat("\x00", 500), "pharos.dev/lease-broken": "{", "team": "shop"}
	})
	broke(t, m, hotfix)
	w.server.advance(7 * time.Second)
	s := inspect(t, m)
	if s.Held || s.Broken == nil || s.Broken.Holder != "contr\x1b[2Joller" || strings.Contains(s.Broken.User, "\x00") {
		t.Errorf("%+v", s)
	}
	if l := w.object(t); l.Annotations["team"] != "shop" || *l.Spec.LeaseTransitions != first {
		t.Errorf("%v, %v", l.Annotations, l.Spec)
	}
}

// What can be read as a break is one, whoever wrote it; nothing else that is
// written into the annotation breaks the lease, or the reading of it.
func TestHostileAnnotations(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"none": "", "no JSON": "{", "null": "null", "array": "[]", "empty": "{}",
		"wrong types":  `{"by":1,"reason":[],"at":true,"holder":{}}`,
		"no time":      `{"by":"a","reason":"b","at":"yesterday","holder":"HOLDER"}`,
		"no holder":    `{"by":"a","reason":"b","at":"2026-03-04T05:06:07Z"}`,
		"no reason":    `{"by":"a","at":"2026-03-04T05:06:07Z","holder":"HOLDER"}`,
		"long":         `{"by":"a","reason":"` + strings.Repeat("b", 20_000) + `","at":"2026-03-04T05:06:07Z","holder":"HOLDER"}`,
		"large number": `{"by":"a","reason":"b","at":"2026-03-04T05:06:07Z","holder":"HOLDER","token":1e400}`,
		"readable":     `{"by":"a\u001b[2J","reason":"b\nc","at":"2026-03-04T05:06:07Z","holder":"HOLDER","more":1}`,
	} {
		w := newWorld(t)
		m := w.manager(t)
		h := acquire(t, m, borrow)
		w.edit(t, func(l *coordinationv1.Lease) {
			l.Annotations["pharos.dev/lease-broken"] = strings.ReplaceAll(text, "HOLDER", h.Holder())
		})
		broken := name == "readable"
		for call, f := range map[string]func(context.Context) error{"Check": h.Check, "Renew": h.Renew} {
			if err := f(t.Context()); errors.Is(err, lease.ErrLost) != broken || !broken && err != nil {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
		if s := inspect(t, m); (s.Broken != nil) != broken {
			t.Errorf("%s: read as %+v", name, s.Broken)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.Resume(t.Context(), h.Holder()); !errors.Is(err, lease.ErrLost) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: %q", name, err)
		}
	}
}

// Whatever goes wrong once with its write, a lease is broken once, and nobody who
// acquires it meanwhile loses it.
func TestBreakFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"409":         {Do: faultproxy.Answer(http.StatusConflict)},
		"409 done":    {Do: faultproxy.Answer(http.StatusConflict), AfterUpstream: true},
		"500":         {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"504 done":    {Do: faultproxy.Answer(http.StatusGatewayTimeout), AfterUpstream: true},
		"request cut": {Do: faultproxy.Cut()},
		"answer cut":  {Do: faultproxy.Cut(), AfterUpstream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config, proxy := w.behind(t)
			h := acquire(t, w.manager(t), maintain)
			// What others do between the write that failed and the look after it.
			var next *lease.Held
			between := func() {
				if next == nil && rule.AfterUpstream {
					w.server.advance(7 * time.Second)
					next = acquire(t, w.manager(t), deliver)
				}
			}
			failed := false
			config.REST = afterwards(config.REST, func(r *http.Request) {
				if r.Method == http.MethodPut && !failed {
					failed = true
					between()
				}
			})
			rule := rule
			rule.Method, rule.Times = http.MethodPut, 1
			fault := proxy.Add(rule)
			broke(t, manager(t, config), hotfix)
			if fault.Hits() != 1 {
				t.Errorf("%d calls failed", fault.Hits())
			}
			if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "ann@laptop broke it") {
				t.Errorf("the holder: %v", err)
			}
			if next != nil {
				if err := next.Check(t.Context()); err != nil {
					t.Errorf("who acquired it meanwhile: %v", err)
				}
			}
		})
	}
}

// Somebody else acquires the lease between the look at it and the write: it is not
// theirs that is to be broken.
func TestBreakIsOvertaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	h := acquire(t, m, borrow)
	var next *lease.Held
	config := w.config(w.server)
	config.REST = before(config.REST, func(r *http.Request) {
		if r.Method == http.MethodPut && next == nil {
			if err := h.Release(context.Background()); err != nil {
				t.Error(err)
			}
			next = acquire(t, m, deliver)
		}
	})
	_, err := manager(t, config).Break(t.Context(), hotfix)
	var held *lease.HeldError
	if !errors.As(err, &held) || held.State.Holder != next.Holder() {
		t.Errorf("%v, want who holds it now", err)
	}
	if err := next.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Several break one lease at once: one of them does.
func TestBreakTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	p := w.process(t, d)
	for round := range 5 {
		w.pass(p, 7*time.Second)
		h := acquire(t, p.Manager, borrow)
		const breakers = 6
		errs := make([]error, breakers)
		var wg sync.WaitGroup
		for i := range breakers {
			other := w.process(t, d)
			wg.Go(func() {
				_, errs[i] = other.Break(t.Context(), lease.BreakRequest{User: fmt.Sprintf("user%d@desk", i), Reason: "now", Holder: h.Holder()})
			})
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Errorf("round %d: %d and %d both broke it", round, winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, lease.ErrNotHeld):
				t.Errorf("round %d: %v, want ErrNotHeld", round, err)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody broke it", round)
		}
		if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), fmt.Sprintf("user%d@desk broke it", winner)) {
			t.Errorf("round %d: %v, want that user%d did", round, err, winner)
		}
		if len(d.closed) > 0 {
			t.Errorf("round %d: closed %+v", round, d.closed)
		}
	}
}

// A lease is broken while its holder renews, opens and releases it: whoever is
// first, in the end nobody holds it, nothing is closed, and the holder knows.
func TestBreakRaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := newDoor()
	for round := range 10 {
		w.server.advance(10 * time.Second)
		p, other := w.process(t, d), w.process(t, d)
		h := acquire(t, p.Manager, borrow)
		lost, stop := h.Keep(t.Context())
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				w.server.advance(time.Second)
				if err := h.RenewFor(t.Context(), time.Duration(30+i)*time.Minute); err != nil && !errors.Is(err, lease.ErrLost) {
					t.Errorf("round %d: Renew: %v", round, err)
				}
			})
		}
		wg.Go(func() {
			if err := h.Check(t.Context()); err != nil && !errors.Is(err, lease.ErrLost) {
				t.Errorf("round %d: Check: %v", round, err)
			}
		})
		if round%2 == 0 {
			wg.Go(func() {
				if _, err := h.Open(t.Context()); err != nil {
					t.Errorf("round %d: Open: %v", round, err)
				}
			})
		}
		if round%3 == 0 {
			wg.Go(func() {
				if err := h.Release(t.Context()); err != nil {
					t.Errorf("round %d: Release: %v", round, err)
				}
			})
		}
		wg.Go(func() {
			if _, err := other.Break(t.Context(), hotfix); err != nil && !(round%3 == 0 && errors.Is(err, lease.ErrNotHeld)) {
				t.Errorf("round %d: Break: %v", round, err)
			}
		})
		wg.Go(func() {
			if _, _, err := other.Manager.Sweep(t.Context()); err != nil {
				t.Errorf("round %d: Sweep: %v", round, err)
			}
		})
		wg.Wait()
		stop()
		if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("round %d: %v, want ErrLost", round, err)
		}
		for err := range lost {
			if !errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrOpened) {
				t.Errorf("round %d: Keep: %v", round, err)
			}
		}
		if s := inspect(t, other.Manager); !over(s) || len(d.closed) > 0 {
			t.Errorf("round %d: %+v, closed %+v", round, s, d.closed)
		}
	}
}
