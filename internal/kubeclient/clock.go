package kubeclient

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ServerClock tells the time as a server does, by the Date of its answers: what the
// server and its controllers write down is not to be judged by the clock of this
// machine. That there are too many requests, and errors of servers, are often the
// answers of what stands in between, with a clock of its own: they tell no time. A Date has its fraction of a second cut off; of those of the last minute
// counts the one that says that it is latest, as long as the others may be true. So it
// may be slow by what a second lacks, less with more answers, and is never fast.
// Before the first answer it tells this machine's. It is safe for concurrent use; the
// zero value is ready.
type ServerClock struct {
	mu          sync.Mutex
	date, heard time.Time
}

// sharp is how long a Date counts beside later ones: clocks drift.
const sharp = time.Minute

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
	return c.at(time.Now())
}

// at is the server's time at a time of this machine.
func (c *ServerClock) at(t time.Time) time.Time { return c.date.Add(t.Sub(c.heard)) }

// hear takes over the Date of an answer to a request that was sent then.
func (c *ServerClock) hear(date, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	slower := !date.After(c.at(now))
	possible := c.at(sent).Before(date.Add(time.Second))
	if !c.heard.IsZero() && now.Sub(c.heard) < sharp && slower && possible {
		return
	}
	c.date, c.heard = date, now
}

// Ask returns a context for one request, and a function that tells the server's time by
// the answer to that: no answer to another request makes it later. It is the clock's
// where there was no Date.
func (c *ServerClock) Ask(ctx context.Context) (context.Context, func() time.Time) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), func() time.Time {
		now := c.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.sent.IsZero() {
			return now
		}
		latest := a.date.Add(time.Second + time.Since(a.sent))
		if latest.Before(now) {
			return latest
		}
		return now
	}
}

// answer is the Date of the last answer to a request, which was written after the
// request was sent.
type answer struct{ date, sent time.Time }

type answerKey struct{}

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
	sent := time.Now()
	resp, err := l.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	date, perr := http.ParseTime(resp.Header.Get("Date"))
	if perr != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError {
		return resp, nil
	}
	l.clock.hear(date, sent)
	if a, ok := r.Context().Value(answerKey{}).(*answer); ok {
		l.clock.mu.Lock()
		defer l.clock.mu.Unlock()
		*a = answer{date, sent}
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go see the transport below.
func (l *listener) WrappedRoundTripper() http.RoundTripper { return l.next }
