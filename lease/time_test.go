package lease_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// Others leave a lease alone until its end and the grace have passed on the
// server's clock, whatever their own says.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"in step": 0, "10 min fast": 10 * time.Minute, "10 min slow": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			old := acquire(t, w.manager(t), deliver)
			other := manager(t, w.config(skewed{w.server, skew}))

			w.server.advance(35 * time.Second) // 30 s and the grace of 5 s
			_, err := other.Acquire(t.Context(), borrow)
			if !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "ran out at") {
				t.Fatalf("at the end of the grace: %v, want ErrHeld", err)
			}
			if s := inspect(t, other); !s.Held {
				t.Errorf("%+v", s)
			}
			w.server.advance(time.Second)
			if s := inspect(t, other); s.Held || s.Holder != old.Holder() {
				t.Errorf("after the grace: %+v, want the last holder, who does not hold it", s)
			}
			next := acquire(t, other, borrow)
			if next.Token() != old.Token()+1 {
				t.Errorf("token %d after %d", next.Token(), old.Token())
			}
			if err := old.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("the old holder's Check: %v, want ErrLost", err)
			}
			if err := old.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
				t.Errorf("the old holder's Renew: %v, want ErrLost", err)
			}
			if err := old.Release(t.Context()); err != nil {
				t.Errorf("the old holder's Release: %v", err)
			}
			if err := next.Check(t.Context()); err != nil {
				t.Errorf("the new holder's Check: %v", err)
			}
		})
	}
}

// A holder stops by its own clock before its end, also when it cannot reach the
// server to ask.
func TestHolderStops(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"in step": 0, "10 min fast": 10 * time.Minute, "10 min slow": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config := w.config(skewed{w.server, skew})
			counted, counter := devtest.Count(config.REST)
			config.REST = counted
			h := acquire(t, manager(t, config), deliver)
			w.server.advance(26 * time.Second)
			if err := h.Check(t.Context()); err != nil {
				t.Errorf("before the margin: %v", err)
			}
			w.server.advance(time.Second) // 30 s less the margin of 3 s
			counter.Reset()
			for call, f := range map[string]func(context.Context) error{"Check": h.Check, "Renew": h.Renew} {
				if err := f(t.Context()); !errors.Is(err, lease.ErrLost) {
					t.Errorf("%s in the margin: %v, want ErrLost", call, err)
				}
			}
			if n := len(counter.Requests()); n != 0 {
				t.Errorf("%d calls were made", n)
			}
			// What it does not need any more it still gives back.
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if s := inspect(t, w.manager(t)); s.Held {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An answer that is long on its way ends the holder's time no later, and a
// Check whose answer comes after the deadline is no permission.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var slow time.Duration
	config := w.config(w.server)
	config.REST = afterwards(config.REST, func(*http.Request) { w.server.advance(slow) })
	m := manager(t, config)
	start := w.server.Now()
	slow = 2 * time.Second
	h := acquire(t, m, deliver)
	// GET at 0, POST at 2, answered at 2, seen at 4; PUT at 4, answered at 4, seen at 6.
	if want := start.Add((2 + 27) * time.Second); !h.Deadline().Equal(want) {
		t.Errorf("deadline %s, want %s", h.Deadline(), want)
	}
	slow = 30 * time.Second
	if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Check whose answer took 30 s: %v, want ErrLost", err)
	}
}

// A machine that slept: its monotonic clock stood still, the server's did not.
func TestRenewAfterSleep(t *testing.T) {
	t.Parallel()
	for name, asleep := range map[string]time.Duration{"to the end": 20 * time.Minute, "past the grace": 21 * time.Minute, "long": 8 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			machine := newClock()
			m := manager(t, w.config(machine))
			for call, f := range map[string]func(*lease.Held) func(context.Context) error{
				"Renew": func(h *lease.Held) func(context.Context) error { return h.Renew },
				"Check": func(h *lease.Held) func(context.Context) error { return h.Check },
			} {
				h := acquire(t, m, borrow)
				before := w.object(t)
				w.server.advance(asleep)
				if err := f(h)(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "it ran out at") {
					t.Errorf("%s: %v, want ErrLost", call, err)
				}
				if diff := cmp.Diff(before, w.object(t)); diff != "" {
					t.Errorf("%s changed the Lease:\n%s", call, diff)
				}
				if _, err := m.Resume(t.Context(), h.Holder()); !errors.Is(err, lease.ErrLost) {
					t.Errorf("Resume: %v, want ErrLost", err)
				}
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A machine that falls asleep in the middle of a renewal. The write moves an
// end that has passed: that is taken back, and the lease is lost.
func TestSleepInRenewal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	machine := newClock()
	config := w.config(machine)
	asleep := false
	config.REST = before(config.REST, func(r *http.Request) {
		if asleep && r.Method == http.MethodPut {
			asleep = false
			w.server.advance(8 * time.Hour)
		}
	})
	h := acquire(t, manager(t, config), borrow)
	end := h.State().Expires
	w.server.advance(time.Minute)
	asleep = true
	err := h.Renew(t.Context())
	if !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "while it was being renewed") {
		t.Errorf("Renew: %v, want ErrLost", err)
	}
	if s := inspect(t, w.manager(t)); s.Held || !s.Expires.Equal(end) {
		t.Errorf("%+v, want a lease that ended at %s", s, end)
	}
}

// What a renewal that came too late moved is moved back, and others wait for the
// grace after the end that was: what its holder had checked may be on its way.
func TestTakenBackWithGrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	machine := newClock()
	config := w.config(machine)
	asleep := false
	config.REST = before(config.REST, func(r *http.Request) {
		if r.Method == http.MethodPut && asleep {
			asleep = false
			w.server.advance(19*time.Minute + time.Second)
		}
	})
	h := acquire(t, manager(t, config), borrow)
	asleep = true
	w.server.advance(time.Minute)
	if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew: %v, want ErrLost", err)
	}
	_, err := w.manager(t).Acquire(t.Context(), deliver)
	if !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "ran out at") {
		t.Errorf("in the grace: %v, want ErrHeld", err)
	}
	w.server.advance(5 * time.Second)
	acquire(t, w.manager(t), deliver)
}

// A machine that falls asleep in the middle of a renewal, whose write lands after
// the end, and whose answer is lost: the end that it then reads does not count.
func TestLostRenewalAfterSleep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	machine := newClock()
	machine.jumps = true
	config := w.config(machine)
	asleep := false
	lost := rest.CopyConfig(config.REST)
	lost.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPut || !asleep {
				return next.RoundTrip(r)
			}
			asleep = false
			w.server.advance(19*time.Minute + 30*time.Second)
			resp, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			_ = resp.Body.Close()
			return nil, errors.New("connection reset by peer")
		})
	})
	config.REST = lost
	h := acquire(t, manager(t, config), borrow)
	asleep = true
	w.server.advance(time.Minute)
	if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "it ran out at") {
		t.Errorf("Renew: %v, want ErrLost", err)
	}
	if s := inspect(t, w.manager(t)); !s.Expires.After(s.Now) {
		t.Errorf("%+v, want that the write went through", s)
	}
	if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Check: %v, want ErrLost", err)
	}
}

// The end moves with every renewal, never back, and never past the limit.
func TestRenewals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	start := w.server.Now()
	long := borrow
	long.For = time.Hour
	h := acquire(t, m, long)
	ends := func(want time.Duration) {
		t.Helper()
		if err := h.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.State().Expires.Sub(start); got != want {
			t.Errorf("at %s the end is at %s, want %s", w.server.Now().Sub(start), got, want)
		}
		if s := inspect(t, m); !cmp.Equal(s, h.State()) {
			t.Errorf("the holder knows %+v, the target %+v", h.State(), s)
		}
	}
	ends(time.Hour)
	w.server.advance(39 * time.Minute)
	ends(time.Hour)
	w.server.advance(2 * time.Minute)
	ends(time.Hour + time.Minute)
	for w.server.Now().Sub(start) < 11*time.Hour+41*time.Minute {
		w.server.advance(15 * time.Minute)
		if err := h.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ends(12 * time.Hour)
	w.server.advance(5 * time.Minute)
	ends(12 * time.Hour)
	w.server.advance(15 * time.Minute)
	if err := h.Renew(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("after 12 h: %v, want ErrLost", err)
	}
}

// The machine's clock is read in a monotonic way: the test clock has no such
// reading, the real one does, and then the difference of two times is what
// counts. With the real clocks the deadline lies within the lease.
func TestRealClocks(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	m := manager(t, lease.Config{REST: c.Config(), Namespace: devtest.Namespace(t, c), Target: "devbox"})
	h := acquire(t, m, deliver)
	s := h.State()
	if d := s.Expires.Sub(s.Acquired); d != 30*time.Second {
		t.Errorf("it lasts %s", d)
	}
	if _, err := m.Acquire(t.Context(), deliver); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("%v, want ErrHeld", err)
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server whose answers have no Date gives nothing to judge a lease by.
func TestNoDate(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	config := rest.CopyConfig(c.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Header.Del("Date")
			}
			return resp, err
		})
	})
	m := manager(t, lease.Config{REST: config, Namespace: devtest.Namespace(t, c), Target: "devbox"})
	if h, err := m.Acquire(t.Context(), deliver); err == nil || !strings.Contains(err.Error(), "Date") {
		t.Errorf("%v, %v, want an error that says so", h, err)
	}
}

// before calls f before each request goes out.
func before(config *rest.Config, f func(*http.Request)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			f(r)
			return next.RoundTrip(r)
		})
	})
	return config
}

// afterwards calls f when the server has answered, before the client sees it.
func afterwards(config *rest.Config, f func(*http.Request)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			f(r)
			return resp, err
		})
	})
	return config
}
