package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Config says how a Deliverer reaches its cluster and how it behaves there.
type Config struct {
	// RESTConfig is the cluster and who we are there. New copies it; rate
	// limits in it are ignored, since the server does its own.
	RESTConfig *rest.Config
	// FieldManager owns what is applied. The default is "pharos".
	FieldManager string
	// DefaultNamespace is where namespaced objects go that name no namespace.
	// The default is "default".
	DefaultNamespace string
	// Concurrency bounds the requests that one call has in flight; watches are
	// not counted. The default is 16.
	Concurrency int
	// RequestTimeout bounds one try of one request, except watches. The
	// default is 30 seconds.
	RequestTimeout time.Duration
	// RetryFor bounds for how long a request that the server could not answer
	// is tried again: throttled (429), failed (5xx), cut or timed out. A
	// request that timed out is tried twice in any case. A server that has not
	// answered yet is not waited for. The default is 30 seconds.
	RetryFor time.Duration
	// Log receives the server's warnings, and retries at debug level. The
	// default discards.
	Log *slog.Logger
}

// Deliverer delivers to one cluster by server-side apply. It is safe for
// concurrent use.
type Deliverer struct {
	client      *client
	manager     string
	namespace   string
	concurrency int
	discovery   discovery
	// narrow holds the resources that we may not list across namespaces.
	narrow sync.Map
}

var _ lifecycle.Deliverer = (*Deliverer)(nil)

// New returns a Deliverer. It sends nothing. It fails when the configuration
// misses the cluster, contradicts itself, or names credentials that cannot be
// loaded.
func New(c Config) (*Deliverer, error) {
	if c.RESTConfig == nil {
		return nil, errors.New("apply: Config.RESTConfig is missing")
	}
	if c.Concurrency < 0 || c.RequestTimeout < 0 || c.RetryFor < 0 {
		return nil, fmt.Errorf("apply: Concurrency (%d), RequestTimeout (%v) and RetryFor (%v) must not be negative",
			c.Concurrency, c.RequestTimeout, c.RetryFor)
	}
	if c.FieldManager == "" {
		c.FieldManager = keys.Manager
	}
	if c.DefaultNamespace == "" {
		c.DefaultNamespace = "default"
	}
	if c.Concurrency == 0 {
		c.Concurrency = 16
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 30 * time.Second
	}
	if c.RetryFor == 0 {
		c.RetryFor = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	cl, err := newClient(c.RESTConfig, c.RequestTimeout, c.RetryFor, c.Log)
	if err != nil {
		return nil, &lifecycle.Error{
			Op: "connect to", On: c.RESTConfig.Host, Class: lifecycle.ErrUnreachable, Err: err,
			Advice: "Check the server, the certificates and the credentials in the kubeconfig.",
		}
	}
	return &Deliverer{
		client:      cl,
		manager:     c.FieldManager,
		namespace:   c.DefaultNamespace,
		concurrency: c.Concurrency,
	}, nil
}

// each calls f for 0 to n-1, at most d.concurrency at a time, and returns when
// all of them have returned. It stops starting further ones when ctx ends.
func (d *Deliverer) each(ctx context.Context, n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, d.concurrency) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
}
