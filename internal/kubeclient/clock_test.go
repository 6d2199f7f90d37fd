package kubeclient_test

import (
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
