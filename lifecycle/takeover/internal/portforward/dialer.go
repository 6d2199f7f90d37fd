package portforward

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// dialTimeout bounds a dial, and the opening of a stream.
const dialTimeout = 10 * time.Second

// Protocol is how a connection came about.
type Protocol string

const (
	WebSocket Protocol = "websocket"
	SPDY      Protocol = "spdy"
)

// Dialer connects to pods of one cluster. It is safe for concurrent use.
type Dialer struct {
	config *rest.Config
	client *rest.RESTClient
	// spdyFirst says that the last connection came about by SPDY after a WebSocket had not.
	spdyFirst atomic.Bool
	only      Protocol
	buffers   sync.Pool // of WebSockets that send
}

// Option changes a Dialer.
type Option func(*Dialer)

// Only has connections come about by this protocol alone. The default is a WebSocket, else SPDY.
func Only(p Protocol) Option { return func(d *Dialer) { d.only = p } }

// New returns a Dialer for the cluster. The configuration is not changed.
func New(config *rest.Config, options ...Option) (*Dialer, error) {
	client, err := kubeclient.New(config, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, err
	}
	d := &Dialer{config: rest.CopyConfig(config), client: client}
	for _, o := range options {
		o(d)
	}
	return d, nil
}

// Connect connects to a pod, for ten seconds at most. The pod need not listen on anything yet. It returns an *[Error].
func (d *Dialer) Connect(ctx context.Context, namespace, pod string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	address := d.client.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	raw, protocol, err := d.dial(ctx, address)
	if err != nil {
		return nil, &Error{Namespace: namespace, Pod: pod, Err: err}
	}
	return newConn(raw, protocol, namespace, pod)
}

func (d *Dialer) dial(ctx context.Context, address *url.URL) (net.Conn, Protocol, error) {
	type way struct {
		protocol Protocol
		dial     func(context.Context, *url.URL) (net.Conn, error)
	}
	ways := []way{{WebSocket, d.dialWebSocket}, {SPDY, d.dialSPDY}}
	switch {
	case d.only == WebSocket:
		ways = ways[:1]
	case d.only == SPDY:
		ways = ways[1:]
	case d.spdyFirst.Load():
		ways[0], ways[1] = ways[1], ways[0]
	}
	var errs []error
	for _, w := range ways {
		conn, err := w.dial(ctx, address)
		if err == nil {
			d.spdyFirst.Store(w.protocol == SPDY && d.only == "")
			return conn, w.protocol, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil || !otherWay(err) {
			break
		}
	}
	// The last one had the best chance; a reason that the API server itself gives says more than that of a proxy.
	for _, err := range errs {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return nil, "", err
		}
	}
	return nil, "", errs[len(errs)-1]
}

// otherWay reports whether the other protocol may get through where this error came of one.
func otherWay(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err) {
		return false
	}
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}
