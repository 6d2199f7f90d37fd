package kubeclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// dated answers with a Date, or with none.
type dated string

func (d dated) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if d != "" {
		w.Header().Set("Date", string(d))
	}
	return w.Result(), nil
}

func TestServerClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c kubeclient.ServerClock
		ask := func(date string) {
			t.Helper()
			rt, err := rest.TransportFor(c.Listen(&rest.Config{Transport: dated(date)}))
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server.invalid", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		ask("")
		if got := c.Now(); !got.Equal(time.Now()) || c.Heard() {
			t.Errorf("before an answer with a Date it is %s", got)
		}
		server := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		ask(server.Format(http.TimeFormat))
		<-time.After(90 * time.Second) // of the bubble
		if got := c.Now(); !got.Equal(server.Add(90*time.Second)) || !c.Heard() {
			t.Errorf("90 s after an answer it is %s", got)
		}
		for _, none := range []string{"", "yesterday"} {
			ask(none)
			if got := c.Now(); !got.Equal(server.Add(90 * time.Second)) {
				t.Errorf("after an answer with the Date %q it is %s", none, got)
			}
		}
	})
}

// real is a server with a clock of its own, which answers after a while.
type real struct {
	now   func() time.Time
	takes time.Duration
}

func (r *real) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	<-time.After(r.takes / 2)
	w.Header().Set("Date", r.now().UTC().Format(http.TimeFormat))
	<-time.After(r.takes / 2)
	return w.Result(), nil
}

// The clock gets sharper with each answer, is never fast, and follows a server whose
// clock is set or runs slower.
func TestServerClockGetsSharper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead, drift time.Duration
		begin := time.Now()
		server := &real{takes: 20 * time.Millisecond, now: func() time.Time {
			return time.Now().Add(ahead - drift*time.Since(begin)/time.Hour)
		}}
		var c kubeclient.ServerClock
		rt, err := rest.TransportFor(c.Listen(&rest.Config{Transport: server}))
		if err != nil {
			t.Fatal(err)
		}
		ask := func() {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server.invalid", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		slow := func(atMost time.Duration) {
			t.Helper()
			if got := server.now().Sub(c.Now()); got < 0 || got > atMost {
				t.Errorf("the clock is slow by %s, want at most %s", got, atMost)
			}
		}
		for _, ahead = range []time.Duration{0, 10*time.Minute + 300*time.Millisecond, 700 * time.Millisecond, -5 * time.Hour} {
			<-time.After(310 * time.Millisecond)
			ask()
			slow(time.Second + server.takes)
			for range 50 {
				<-time.After(77 * time.Millisecond)
				ask()
			}
			slow(120 * time.Millisecond)
		}
		ahead, drift = 0, 10*time.Second
		for range 3600 {
			<-time.After(977 * time.Millisecond)
			ask()
			if got := server.now().Sub(c.Now()); got < -200*time.Millisecond || got > time.Second+server.takes {
				t.Fatalf("the clock is slow by %s, while this machine's gains 10 s an hour", got)
			}
		}
	})
}

// says answers with a status and a Date.
type says struct {
	status int
	date   time.Time
}

func (s says) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Date", s.date.UTC().Format(http.TimeFormat))
	w.WriteHeader(s.status)
	return w.Result(), nil
}

// What may be the answer of something in between tells no time, and what is asked for a
// request's own time is not told that of another one.
func TestServerClockOfOneAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c kubeclient.ServerClock
		server := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		ask := func(ctx context.Context, s says) {
			t.Helper()
			rt, err := rest.TransportFor(c.Listen(&rest.Config{Transport: s}))
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server.invalid", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		is := func(what string, got, want time.Time) {
			t.Helper()
			if !got.Equal(want) {
				t.Errorf("%s it is %s, want %s", what, got, want)
			}
		}
		ctx, now := c.Ask(t.Context())
		is("before all answers", now(), time.Now())
		ask(ctx, says{http.StatusOK, server})
		for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
			ask(t.Context(), says{status, server.Add(48 * time.Hour)})
			is(fmt.Sprintf("after an error %d of another clock", status), c.Now(), server)
		}
		<-time.After(time.Minute) // of the bubble
		is("by the request itself", now(), server.Add(time.Minute))
		ask(t.Context(), says{http.StatusOK, server.Add(48 * time.Hour)})
		is("after another answer", c.Now(), server.Add(48*time.Hour))
		is("by the request itself", now(), server.Add(time.Minute+time.Second))
		ask(t.Context(), says{http.StatusForbidden, server.Add(-time.Hour)})
		is("after one of a clock that was set back", now(), server.Add(-time.Hour))
	})
}
