package reaper_test

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// between calls f before each request with the method goes out.
func between(config *rest.Config, method string, f func()) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == method {
				f()
			}
			return next.RoundTrip(r)
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
