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
		if got := c.Now(); !got.Equal(time.Now()) {
			t.Errorf("before an answer it is %s", got)
		}
		server := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		ask(server.Format(http.TimeFormat))
		<-time.After(90 * time.Second) // of the bubble
		if got := c.Now(); !got.Equal(server.Add(90 * time.Second)) {
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
