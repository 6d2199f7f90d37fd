package main

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// traffic counts the requests to a server. It is safe for concurrent use.
type traffic struct {
	mu            sync.Mutex
	reads, writes int
}

func (t *traffic) count(method string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		t.reads++
	default:
		t.writes++
	}
}

// take returns what was counted since it was called last.
func (t *traffic) take() load {
	if t == nil {
		return load{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := load{t.reads, t.writes}
	t.reads, t.writes = 0, 0
	return l
}

// handler counts what a server is asked.
func (t *traffic) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.count(r.Method)
		next.ServeHTTP(w, r)
	})
}

// client counts what a client asks, tries that failed included.
func (t *traffic) client(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			t.count(r.Method)
			return next.RoundTrip(r)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// load is a number of requests.
type load struct{ reads, writes int }

func (l load) String() string { return fmt.Sprintf("%d reads, %d writes", l.reads, l.writes) }
