package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errPlainHTTP is the error of a request that would go over plain HTTP although
// the configuration does not allow it.
var errPlainHTTP = errors.New("plain HTTP is not allowed here")

// maxRedirects is how often one request may be led on: as often as net/http
// follows by itself, which go-containerregistry's own rules turn off.
const maxRedirects = 10

// errRedirects is the error of a request that is led on and on.
var errRedirects = fmt.Errorf("the registry leads on more than %d times", maxRedirects)

// guard is the lowest layer of every request. It refuses plain HTTP unless it
// is allowed, since go-containerregistry falls back to it by itself for
// loopback and private addresses; it bounds redirects; it remembers a registry's greeting, so that a
// hundred repositories of one host ask for it once; and it notes how long a
// registry wants to be left alone.
type guard struct {
	inner    http.RoundTripper
	insecure bool     // on every host
	hosts    []string // the hosts on which alone, in lower case

	greetings sync.Map // scheme://host → *greeting
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !g.allows(req.URL.Host) {
		closeBody(req)
		return nil, errPlainHTTP
	}
	if redirects(req) > maxRedirects {
		closeBody(req)
		return nil, errRedirects
	}
	if req.Method == http.MethodGet && req.URL.Path == "/v2/" {
		return g.greet(req)
	}
	resp, err := g.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		// Perhaps it asks for something else now.
		g.greetings.Delete(origin(req))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		note(req.Context(), resp.Header.Get("Retry-After"))
	}
	return resp, nil
}

// redirects is how often a request was led on to be what it is.
func redirects(req *http.Request) int {
	n := 0
	for ; req.Response != nil && req.Response.Request != nil && n <= maxRedirects; n++ {
		req = req.Response.Request
	}
	return n
}

// allows says whether plain HTTP is allowed on a host.
func (g *guard) allows(host string) bool {
	return g.insecure || slices.Contains(g.hosts, strings.ToLower(host))
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		// It was never read, so nothing is lost.
		_ = req.Body.Close()
	}
}

func origin(req *http.Request) string { return req.URL.Scheme + "://" + req.URL.Host }

// greeting is the answer to GET /v2/: it says how to log in.
type greeting struct {
	// asking is held, by a send, by the caller that asks.
	asking chan struct{}
	status int
	header http.Header
}

func (g *guard) greet(req *http.Request) (*http.Response, error) {
	v, _ := g.greetings.LoadOrStore(origin(req), &greeting{asking: make(chan struct{}, 1)})
	known := v.(*greeting)
	select {
	case known.asking <- struct{}{}:
		defer func() { <-known.asking }()
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if known.status == 0 {
		resp, err := g.inner.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusUnauthorized {
			note(req.Context(), resp.Header.Get("Retry-After"))
			return resp, nil
		}
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		known.status, known.header = resp.StatusCode, resp.Header
	}
	return &http.Response{
		Status:     http.StatusText(known.status),
		StatusCode: known.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  known.header.Clone(),
		Body:    io.NopCloser(bytes.NewReader(nil)),
		Request: req,
	}, nil
}

type hintKey struct{}

// hint is the longest time that a registry asked to be left alone for, during
// one attempt of an operation.
type hint struct {
	mu   sync.Mutex
	rest time.Duration
}

func (h *hint) get() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rest
}

// note keeps the seconds of a Retry-After header. Its other form, a date, needs
// clocks that agree and is rare; it is ignored.
func note(ctx context.Context, retryAfter string) {
	h, ok := ctx.Value(hintKey{}).(*hint)
	// A number that is too large becomes the largest.
	seconds, err := strconv.ParseUint(strings.TrimSpace(retryAfter), 10, 31)
	if !ok || err != nil && !errors.Is(err, strconv.ErrRange) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest = max(h.rest, time.Duration(seconds)*time.Second)
}
