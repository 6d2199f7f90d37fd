package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"
)

const (
	acceptJSON      = "application/json"
	acceptMetaList  = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	applyPatch      = "application/apply-patch+yaml"
)

// client speaks to one API server: plain HTTP requests with client-go's
// transport, so that authentication, TLS and proxies are client-go's, while
// retries are ours: the guard must be asked before each of them.
type client struct {
	base    *url.URL
	http    *http.Client
	timeout time.Duration
	retry   time.Duration
	log     *slog.Logger
	// reached says that the server has answered before: an outage is worth
	// waiting for, a wrong address is not.
	reached atomic.Bool
}

func newClient(cfg *rest.Config, timeout, retry time.Duration, log *slog.Logger) (*client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0
	if cfg.UserAgent == "" {
		cfg.UserAgent = "pharos"
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	own := *hc
	// A redirected write would be sent to somebody who was not named.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{base: base, http: &own, timeout: timeout, retry: retry, log: log}, nil
}

// request is one request, which may be tried several times.
type request struct {
	method string
	path   string
	query  url.Values
	accept string
	body   []byte
	// contentType is that of the body. The default is that of an apply.
	contentType string
	// into is what the answer is decoded into: a *string holds it as it is.
	into any
	// before is called before each try; its error ends the request.
	before func(context.Context) error
	// again says that an answer that is final by itself is worth another try.
	again func(error) bool
	// final says that an answer is final although it would be worth one; may be nil.
	final func(error) bool
}

// do sends the request until the server has answered it, within the limits of
// retries, and returns the answer's status. Errors of the server are
// *apierrors.StatusError.
func (c *client) do(ctx context.Context, r request) (code int, err error) {
	b := newBackoff(c.retry)
	for {
		if r.before != nil {
			if err := r.before(ctx); err != nil {
				return 0, &guardError{err}
			}
		}
		code, err = c.try(ctx, r)
		if err == nil {
			c.reached.Store(true)
			return code, nil
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if r.final != nil && r.final(err) || !c.transient(err) && (r.again == nil || !r.again(err)) {
			return 0, err
		}
		c.log.DebugContext(ctx, "trying again", "method", r.method, "path", r.path, "error", err)
		if !b.wait(ctx, retryAfter(err)) {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, err
		}
	}
}

// try sends the request once, for at most the timeout of requests.
func (c *client) try(parent context.Context, r request) (code int, err error) {
	ctx, cancel := context.WithTimeout(parent, c.timeout)
	defer cancel()
	code, err = c.exchange(ctx, r)
	if err != nil && ctx.Err() != nil && parent.Err() == nil {
		// Not the context's error: no deadline of the caller has passed.
		err = fmt.Errorf("the server did not answer within %v", c.timeout)
	}
	return code, err
}

func (c *client) exchange(ctx context.Context, r request) (code int, err error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if text, ok := r.into.(*string); ok {
		*text = string(body)
	} else if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, r.into)
	}
	if err != nil {
		// Of an answer that was cut short, as of one that never came, the
		// server can be asked again.
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	return resp.StatusCode, nil
}

// send sends one request and returns its answer if it is a success.
func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", r.accept)
	if r.body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.contentType, applyPatch))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		// The address is said by whoever reports the error; the query never is.
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, err
	}
	warnings, _ := utilnet.ParseWarningHeaders(resp.Header.Values("Warning"))
	for _, w := range warnings {
		c.log.WarnContext(ctx, w.Text, "path", r.path)
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, nil
	}
	defer resp.Body.Close()
	// Errors of the server are small; a proxy's page is cut.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return nil, statusError(r, resp, body)
}

// statusError reads the server's own error, or makes one of what a proxy said.
func statusError(r request, resp *http.Response, body []byte) error {
	after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	var s metav1.Status
	if kjson.UnmarshalCaseSensitivePreserveInts(body, &s) == nil && s.Kind == "Status" && s.Status != metav1.StatusSuccess {
		if after > 0 {
			if s.Details == nil {
				s.Details = &metav1.StatusDetails{}
			}
			s.Details.RetryAfterSeconds = int32(min(after, 3600))
		}
		return statusOf(s, resp.StatusCode)
	}
	const enough = 512
	text := string(body[:min(len(body), enough)])
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.method, schema.GroupResource{}, "", text, after, true)
}

func statusOf(s metav1.Status, code int) error {
	if s.Code == 0 {
		s.Code = int32(code)
	}
	return &apierrors.StatusError{ErrStatus: s}
}

func decodeObject(raw []byte) (object, error) {
	var o object
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &o)
	return o, err
}
