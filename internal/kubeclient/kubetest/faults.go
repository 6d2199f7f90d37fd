// Package kubetest makes API calls of a client go wrong on their way, for what
// a real API server does not do on demand. The calls that do go through reach
// the real one.
package kubetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Fault is what happens to one request instead of next.
type Fault func(r *http.Request, next http.RoundTripper) (*http.Response, error)

// ErrCut is what a client sees whose connection is cut.
var ErrCut = errors.New("the connection was cut")

// Status answers with an HTTP status, and the server never sees the request.
func Status(code int) Fault {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		body, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: int32(code), Message: "injected: " + http.StatusText(code),
		})
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		}, err
	}
}

// LoseRequest cuts the connection before the server sees the request.
func LoseRequest(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, ErrCut }

// LoseAnswer lets the server do what it is asked for, and cuts the connection
// before it answers.
func LoseAnswer(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return nil, errors.Join(ErrCut, err, resp.Body.Close())
}

// WithFaults returns a copy of the configuration. Before each request choose is
// asked, with the number of requests before it, which fault it has: nil for
// none. It is called by several goroutines at once.
func WithFaults(config *rest.Config, choose func(n int, r *http.Request) Fault) *rest.Config {
	config = rest.CopyConfig(config)
	var n atomic.Int64
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if f := choose(int(n.Add(1))-1, r); f != nil {
				return f(r, next)
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
