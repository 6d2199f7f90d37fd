package portforward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"

	subprotocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
)

func (d *Dialer) dialWebSocket(ctx context.Context, address *url.URL) (net.Conn, error) {
	rt, holder, err := websocket.RoundTripperFor(d.config)
	if err != nil {
		return nil, err
	}
	// The handshake heeds the deadline of its context, not that the context ends.
	stop := func() bool { return true }
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		boundBuffer(got.Conn)
		stop = context.AfterFunc(ctx, func() { _ = got.Conn.Close() })
	}})
	req, err := http.NewRequestWithContext(traced, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, err := websocket.Negotiate(rt, holder, req, subprotocol.WebsocketsSPDYTunnelingPortForwardV1)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) && upgrade.Cause != nil {
		return nil, &refusedError{upgrade}
	}
	if err != nil {
		return nil, err
	}
	return portforward.NewTunnelingConnection("client", conn), nil
}

// refusedError is an upgrade that failed, with its cause to be found by errors.As, and as its text.
type refusedError struct {
	upgrade *httpstream.UpgradeFailureError
}

func (e *refusedError) Error() string   { return e.upgrade.Cause.Error() }
func (e *refusedError) Unwrap() []error { return []error{e.upgrade, e.upgrade.Cause} }
