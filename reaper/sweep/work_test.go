package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

var someMaps = Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}

// pods has the lists of pods hang, and all else take no time.
func pods(r *http.Request) error {
	if strings.HasSuffix(r.URL.Path, "/pods") {
		return hang(r)
	}
	return nil
}

// A list that hangs is a gap when it was tried again and again, and keeps neither
// ConfigMaps from ending, nor more than that one namespace.
func TestLookThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{resources: []string{"configmaps", "pods"}, slow: pods}
		e := f.ender(t)
		var all sync.WaitGroup
		defer all.Wait()
		began := time.Now()
		for i := range 3 * DefaultConcurrentDeletes {
			name := fmt.Sprint("shop-", i)
			all.Go(func() {
				res, err := e.End(t.Context(), namespaces, "", name, name)
				if err != nil || res.Outcome != Refused || len(res.Gaps) != 1 || res.Gaps[0].What != "pods" {
					t.Errorf("%s: got %+v, %v; want a gap", name, res, err)
				}
			})
		}
		synctest.Wait()
		res, err := e.End(t.Context(), someMaps, "shop", "a", "a")
		if took := time.Since(began); err != nil || res.Outcome != Deleted || took != 0 {
			t.Errorf("got %s, %v, after %s; want it deleted at once", res.Outcome, err, took)
		}
	})
}

// What cannot be reached is no gap.
func TestServerThatGoesWithinALook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("connection refused")
		var lists bool
		f := &fake{resources: []string{"pods"}}
		f.slow = func(r *http.Request) error {
			if lists = lists || strings.HasSuffix(r.URL.Path, "/pods"); lists {
				return gone
			}
			return nil
		}
		if res, err := f.ender(t).End(t.Context(), namespaces, "", "shop", "shop"); !errors.Is(err, gone) {
			t.Errorf("got %+v, %v; want its error", res, err)
		}
	})
}

// All looks together list few things at once, and hold few objects of each.
func TestLooksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		for i := range 20 {
			f.resources = append(f.resources, fmt.Sprint("things", i))
		}
		f.slow = func(r *http.Request) error {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/things") {
				if got := r.URL.Query().Get("limit"); got != "50" {
					t.Errorf("%s: asks for %q objects", r.URL.Path, got)
				}
				<-time.After(time.Second) // by the clock of the bubble
			}
			return nil
		}
		e := f.ender(t)
		var all sync.WaitGroup
		for i := range DefaultConcurrentDeletes {
			name := fmt.Sprint("shop-", i)
			all.Go(func() {
				if res, err := e.End(t.Context(), namespaces, "", name, name); err != nil || res.Outcome != Deleted {
					t.Errorf("got %s, %v", res.Outcome, err)
				}
			})
		}
		all.Wait()
		if f.highest != maxLookers {
			t.Errorf("%d lists were read at once, want %d", f.highest, maxLookers)
		}
	})
}

// sweeps runs the part of a sweep behind the watches, which have seen objects that are
// due: so many namespaces, and then a ConfigMap. It returns how late that one was.
func sweeps(t *testing.T, f *fake, inNamespaces int) (late time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := newSweeping(f.ender(t), SweeperConfig{Observed: func(i Item, l time.Duration) {
		if i.Err != nil {
			t.Error(i.Err)
			cancel()
		}
		if i.Resource == someMaps {
			late = l
			cancel()
		}
	}})
	due := time.Now().Add(time.Minute).UTC()
	for i := range inNamespaces {
		s.seen(namespaces, fmt.Sprint("shop-", i), 1, due)
	}
	s.seen(someMaps, "a", 2, due)
	f.due = due
	s.work(ctx)
	return late
}

// seen has a watch see an object that ends then.
func (s *sweeping) seen(r Resource, name string, number uint16, due time.Time) {
	s.coverage.watches[r.String()] = &watched{resource: r, number: number}
	s.store.see(source{watch: number}, reaper.Object{
		Kind: r.Kind, Namespace: "shop", Name: name, UID: name, Created: time.Now(), Labels: map[string]string{keys.Intent: "transient"},
		Annotations: map[string]string{keys.ExpiresAt: reaper.FormatTime(due)},
	}, time.Now())
}

// A resource that does not answer, of which very much is due, keeps what is of others
// for no longer than its first requests take.
func TestSweepWithAResourceThatHangs(t *testing.T) {
	t.Parallel()
	for _, hanging := range []string{http.MethodGet, http.MethodDelete} {
		t.Run(hanging, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{slow: func(r *http.Request) error {
					if strings.Contains(r.URL.Path, "/databases/") && r.Method == hanging {
						return hang(r)
					}
					return nil
				}}
				ctx, cancel := context.WithCancel(t.Context())
				const maps, every = 30, time.Minute
				due := time.Now().UTC()
				var ends atomic.Int64
				s := newSweeping(f.ender(t), SweeperConfig{Observed: func(i Item, late time.Duration) {
					if i.Resource != someMaps {
						return
					}
					// All objects of the server were due at the beginning.
					n := ends.Add(1)
					if n > 10 && late > time.Duration(n)*every+time.Second {
						t.Errorf("ConfigMap %d ended %s after the beginning", n, late)
					}
					if n == maps {
						cancel()
					}
				}})
				for i := range 100 {
					s.seen(Resource{Version: "v1", Resource: "databases", Kind: "Database", Namespaced: true}, fmt.Sprint("d-", i), 1, due)
				}
				for i := range maps {
					s.seen(someMaps, fmt.Sprint("m-", i), 2, due.Add(time.Duration(i+1)*every))
				}
				s.work(ctx)
			})
		})
	}
}

// What answers again is soon looked at as fast as before.
func TestSweepWithAResourceThatHungOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &fake{slow: func(r *http.Request) error {
			if time.Since(began) < time.Minute {
				return hang(r)
			}
			<-time.After(100 * time.Millisecond) // by the clock of the bubble
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		const maps = 1000
		var ends atomic.Int64
		s := newSweeping(f.ender(t), SweeperConfig{Observed: func(i Item, late time.Duration) {
			if i.Outcome != Deleted {
				return
			}
			if ends.Add(1) == maps {
				cancel()
				// Its two requests for each of them, ten at once, take 20 s.
				if late > 2*time.Minute {
					t.Errorf("the last one was %s late", late)
				}
			}
		}})
		for i := range maps {
			s.seen(someMaps, fmt.Sprint("m-", i), 1, began)
		}
		s.work(ctx)
	})
}

// In a running sweep, too, looks that hang keep nothing else.
func TestSweepWithLooksThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if late := sweeps(t, &fake{resources: []string{"configmaps", "pods"}, slow: pods}, 100); late > time.Second {
			t.Errorf("a ConfigMap was %s late", late)
		}
	})
}

// How late an end was does not depend on how long its Event takes.
func TestLatenessIsNotThatOfTheEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{slow: func(r *http.Request) error {
			if r.Method == http.MethodPost {
				<-time.After(20 * time.Second) // by the clock of the bubble
			}
			return nil
		}}
		if late := sweeps(t, f, 0); late > time.Second {
			t.Errorf("it was %s late", late)
		}
	})
}

// After an outage it is not waited for the next time that discovery is asked anyway, and
// the log names what is not seen, once.
func TestDiscoveryAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var said bytes.Buffer
		f := &fake{log: slog.New(slog.NewTextHandler(&said, nil)), slow: func(*http.Request) error {
			if time.Since(began) < time.Minute {
				return errors.New("connection refused")
			}
			return nil
		}}
		e := f.ender(t)
		c := newCoverage(e, newStore(e.config), SweeperConfig{Resources: []string{"things"}, Discover: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.keep(ctx) }()
		<-time.After(2 * time.Minute) // by the clock of the bubble
		if gaps := c.missing(); len(gaps) != 1 || gaps[0].What != "things" {
			t.Errorf("a minute after it the gaps are %v", gaps)
		}
		cancel()
		<-done
		for line, want := range map[string]int{
			`msg="objects are not seen" resource=discovery`: 1, `msg="objects are seen again" resource=discovery`: 1, `msg="objects are not seen" resource=things`: 1, "msg=": 3,
		} {
			if got := strings.Count(said.String(), line); got != want {
				t.Errorf("%d times %q, want %d:\n%s", got, line, want, &said)
			}
		}
	})
}

func TestUntil(t *testing.T) {
	t.Parallel()
	now := momentOf(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	for _, tt := range []struct {
		next moment
		want time.Duration
	}{
		{now, 0}, {now + 1, time.Microsecond}, {now + 999_999, 999_999 * time.Microsecond}, {now + 1_000_000, time.Second}, {never, time.Second},
		{momentOf(time.Date(2326, 1, 1, 0, 0, 0, 0, time.UTC)), time.Second}, {momentOf(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), time.Second},
	} {
		if got := until(now, tt.next); got != tt.want {
			t.Errorf("%d: got %s, want %s", tt.next, got, tt.want)
		}
	}
}
