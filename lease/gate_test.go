package lease_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
