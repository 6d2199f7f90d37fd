package registry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
)

// leading is a registry that greets, and leads every other request on.
func leading(t *testing.T, to func(n int64, r *http.Request) string) (host string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		w.Header().Set("Location", to(asked.Add(1), r))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), asked
}

func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	for what, to := range map[string]func(int64, *http.Request) string{
		"to itself": func(_ int64, r *http.Request) string { return r.URL.Path },
		"on and on": func(n int64, r *http.Request) string { return fmt.Sprintf("%s?at=%d", r.URL.Path, n) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			host, asked := leading(t, to)
			_, err := newRegistry(t, nil).Resolve(t.Context(), host+"/base:3")
			wantError(t, err, lifecycle.ErrUnreachable, "leads on more than 10 times")
			if n := asked.Load(); n != 11 {
				t.Errorf("it was asked %d times, want once and 10 times more", n)
			}
		})
	}
}
