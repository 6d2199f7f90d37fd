package kubeclient

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ServerClock tells the time as a server does, by the Date of its latest answer:
// what the server and its controllers write down is not to be judged by the clock of
// this machine. Before the first answer it tells this machine's. It is safe for
// concurrent use; the zero value is ready.
type ServerClock struct {
	mu          sync.Mutex
	date, heard time.Time
}

// Listen returns a copy of the configuration by whose answers the clock is set.
func (c *ServerClock) Listen(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &listener{next, c} })
	return config
}

// Now is the server's time, to a second.
func (c *ServerClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard.IsZero() {
		return time.Now()
	}
	return c.date.Add(time.Since(c.heard))
}

// Heard says whether the server has told the time.
func (c *ServerClock) Heard() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.heard.IsZero()
}

type listener struct {
	next  http.RoundTripper
	clock *ServerClock
}

// RoundTrip implements http.RoundTripper.
func (l *listener) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if date, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
		l.clock.mu.Lock()
		l.clock.date, l.clock.heard = date, time.Now()
		l.clock.mu.Unlock()
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go see the transport below.
func (l *listener) WrappedRoundTripper() http.RoundTripper { return l.next }
