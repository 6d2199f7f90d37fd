package devtest

import (
	"net/http"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
)

// Request is one HTTP request that a client sent.
type Request struct {
	// Method and Path are the request's own; Query is the encoded query without "?".
	Method, Path, Query string
}

// Counter counts the requests of a client configuration. Its methods may be called by several goroutines at once.
type Counter struct {
	mu       sync.Mutex
	requests []Request
}

// Count returns a copy of the configuration whose clients' requests are counted, including repeated ones.
func Count(config *rest.Config) (*rest.Config, *Counter) {
	counter := &Counter{}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return countingTransport{counter, next} })
	return config, counter
}

// Requests returns what was sent so far, in order.
func (c *Counter) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Reset forgets what was sent so far.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = nil
}

type countingTransport struct {
	counter *Counter
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.counter.mu.Lock()
	t.counter.requests = append(t.counter.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery})
	t.counter.mu.Unlock()
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go see the transport below.
func (t countingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
