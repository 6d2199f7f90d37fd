package lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// reading is an answer of the API server about the lease.
type reading struct {
	lease *coordinationv1.Lease // nil if there is none
	// date is the Date of the answer: the server's time when it answered, cut
	// to whole seconds.
	date time.Time
	// sent is this machine's time right before the request went out.
	sent time.Time
}

// client makes the API calls. Each is bounded by timeout.
type client struct {
	rest            rest.Interface
	namespace, name string
	clock           Clock
	timeout         time.Duration
}

func newClient(c Config) (*client, error) {
	config := rest.CopyConfig(c.REST)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &stamper{next: next, clock: c.Clock}
	})
	r, err := kubeclient.New(config, coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &client{rest: r, namespace: c.Namespace, name: c.Name, clock: c.Clock, timeout: c.RequestTimeout}, nil
}

// get reads the lease. That there is none is no error.
func (c *client) get(ctx context.Context) (reading, error) {
	r, err := c.do(ctx, c.rest.Get().Name(c.name))
	switch {
	case !kubeclient.NotFound(err):
		return r, err
	case r.date.IsZero():
		return r, errNoDate
	}
	r.lease = nil
	return r, nil
}

// put creates the lease if it has no resourceVersion, and else replaces the
// one that has this resourceVersion.
func (c *client) put(ctx context.Context, l *coordinationv1.Lease) (reading, error) {
	r := c.rest.Post()
	if l.ResourceVersion != "" {
		r = c.rest.Put().Name(c.name)
	}
	return c.do(ctx, r.Param("fieldManager", keys.Manager).Body(l))
}

var errNoDate = errors.New("the API server's answer has no Date, without which it cannot be told whether a lease has ended")

// errUsedUp says that the fencing token cannot grow any more.
var errUsedUp = errors.New("its fencing token, spec.leaseTransitions, has the highest value that there is")

func (c *client) do(ctx context.Context, r *rest.Request) (reading, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var s stamp
	var l coordinationv1.Lease
	// client-go would try again on the real clock, and a second apart: see again.
	err := r.MaxRetries(0).Namespace(c.namespace).Resource("leases").Do(context.WithValue(ctx, stampKey{}, &s)).Into(&l)
	if err == nil && s.date.IsZero() {
		err = errNoDate
	}
	return reading{lease: &l, date: s.date, sent: s.sent}, err
}

type stampKey struct{}

// stamp is where a request's context carries its times.
type stamp struct{ sent, date time.Time }

// stamper notes when a request went out and what time the server answered it
// with. It stands between client-go and the network, where both can be seen.
type stamper struct {
	next  http.RoundTripper
	clock Clock
}

func (t *stamper) RoundTrip(r *http.Request) (*http.Response, error) {
	s, ok := r.Context().Value(stampKey{}).(*stamp)
	if !ok {
		return t.next.RoundTrip(r)
	}
	*s = stamp{sent: t.clock.Now()}
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		if date, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
			s.date = date.UTC()
		}
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport.
func (t *stamper) WrappedRoundTripper() http.RoundTripper { return t.next }

// tries counts what went wrong in one operation, so that it ends.
type tries struct{ conflicts, failures int }

const (
	maxConflicts = 20
	maxFailures  = 5
)

// again decides after a call that failed whether to read the lease again and
// decide anew, and waits before it if the server seems to be in trouble. It
// returns nil to go on and else the error to return.
func (m *Manager) again(ctx context.Context, t *tries, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		// Somebody else wrote in between. They made progress, so that this ends
		// unless something writes the lease over and over.
		if t.conflicts++; t.conflicts > maxConflicts {
			return err
		}
		return nil
	case kubeclient.Transient(err) && !errors.Is(err, errNoDate):
		if t.failures++; t.failures >= maxFailures {
			return err
		}
		m.config.Log.Debug("try again", "target", m.config.Target, "err", err)
		wait := 50 * time.Millisecond << t.failures
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			wait = max(wait, min(time.Duration(seconds)*time.Second, m.config.RequestTimeout))
		}
		return m.sleep(ctx, wait)
	default:
		return err
	}
}

// sleep waits on the configured clock.
func (m *Manager) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-m.config.Clock.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read reads the lease, trying again while the server is in trouble.
func (m *Manager) read(ctx context.Context) (reading, error) {
	var t tries
	for {
		r, err := m.client.get(ctx)
		if err == nil {
			return r, nil
		}
		if err := m.again(ctx, &t, err); err != nil {
			return reading{}, err
		}
	}
}

// fail wraps an error of the API. What a gate refuses says all itself.
func (m *Manager) fail(op string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok && errors.Is(err, ErrInvalid) {
		return err
	}
	e := &Error{Op: op, Object: "Lease " + m.client.namespace + "/" + m.client.name, Err: err}
	var gate *gateError
	switch {
	case errors.As(err, &gate): // which says itself what to do
	case kubeclient.NamespaceMissing(err):
		e.Err = fmt.Errorf("%w: %w", ErrNoNamespace, err)
		e.Advice = fmt.Sprintf("Create it: kubectl create namespace %s", m.client.namespace)
	case errors.Is(err, errUsedUp):
		e.Advice = fmt.Sprintf("Something else than Pharos wrote it. While nobody delivers, delete the Lease, so that it begins anew: kubectl delete lease --namespace %s %s", m.client.namespace, m.client.name)
	case apierrors.IsUnauthorized(err):
		e.Advice = "Renew the credentials of the kubeconfig's user: the server does not accept them."
	case apierrors.IsForbidden(err):
		e.Advice = kubeclient.ForbiddenAdvice(err, m.client.namespace,
			"What is needed is to get, create and update leases of coordination.k8s.io in "+m.client.namespace+": "+kubeclient.RightsPage)
	}
	return e
}
