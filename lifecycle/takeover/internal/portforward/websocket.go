package portforward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	subprotocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
)

// message is the most that is sent as one message: with its head of 8 bytes it takes four records of TLS, without a
// fifth for what is left over.
const message = 64<<10 - 8

// dialWebSocket is what client-go's package websocket does, but for the sizes of buffers, that connections end with ctx, and
// that records of TLS are put together.
func (d *Dialer) dialWebSocket(ctx context.Context, address *url.URL) (net.Conn, error) {
	tlsConfig, err := rest.TLSConfigFor(d.config)
	if err != nil {
		return nil, err
	}
	upgrade := &webSocketUpgrade{dialer: websocket.Dialer{
		Proxy:           d.config.Proxy,
		TLSClientConfig: tlsConfig,
		Subprotocols:    []string{subprotocol.WebsocketsSPDYTunnelingPortForwardV1},
		ReadBufferSize:  readAhead,
		WriteBufferSize: message,
		WriteBufferPool: &d.buffers,
	}}
	if upgrade.dialer.Proxy == nil {
		upgrade.dialer.Proxy = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	rt, err := rest.HTTPWrappersForConfig(d.config, upgrade)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return upgrade.conn, resp.Body.Close()
}

// webSocketUpgrade makes one request and keeps its connection.
type webSocketUpgrade struct {
	dialer websocket.Dialer
	under  *bulk.Batch
	conn   net.Conn
}

// RoundTrip implements http.RoundTripper.
func (u *webSocketUpgrade) RoundTrip(req *http.Request) (*http.Response, error) {
	address := *req.URL
	address.Scheme = map[string]string{"https": "wss", "http": "ws"}[address.Scheme]
	ctx := req.Context()
	// The handshake heeds the deadline of its context, not that the context ends.
	stop := func() bool { return true }
	u.dialer.NetDialContext = func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		boundBuffer(conn)
		stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
		u.under = bulk.NewBatch(bulk.Direct(conn))
		return u.under, nil
	}
	conn, resp, err := u.dialer.DialContext(ctx, address.String(), req.Header)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, websocket.ErrBadHandshake) && resp != nil {
		return nil, refusal(resp)
	}
	if err != nil {
		return nil, err
	}
	if conn.Subprotocol() != u.dialer.Subprotocols[0] {
		_ = conn.Close()
		return nil, &refusedError{&httpstream.UpgradeFailureError{Cause: fmt.Errorf("the API server chose the protocol %q", conn.Subprotocol())}}
	}
	m := &messages{Conn: conn.NetConn(), ws: conn, under: u.under}
	conn.SetPingHandler(m.pong)
	u.conn = m
	return resp, nil
}

// messages are a connection whose bytes are carried in a WebSocket's messages.
type messages struct {
	net.Conn
	ws    *websocket.Conn
	under *bulk.Batch
	now   io.Reader // the message that is read

	writing sync.Mutex
	ponging atomic.Bool
}

// pong answers a ping, but not while a write is under way: the reader does not wait for that, nor does that get a deadline.
func (m *messages) pong(data string) error {
	if m.ponging.Swap(true) {
		return nil
	}
	go func() {
		defer m.ponging.Store(false)
		m.writing.Lock()
		defer m.writing.Unlock()
		_ = m.ws.WriteControl(websocket.PongMessage, []byte(data), time.Time{})
	}()
	return nil
}

// Read implements net.Conn.
func (m *messages) Read(p []byte) (int, error) {
	for {
		if m.now == nil {
			kind, now, err := m.ws.NextReader()
			if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				return 0, io.EOF
			}
			if err != nil {
				return 0, err
			}
			if kind != websocket.BinaryMessage {
				return 0, errors.New("the API server sent a message of text")
			}
			m.now = now
		}
		n, err := m.now.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		m.now = nil
	}
}

// Write implements net.Conn. It is called by one goroutine at a time.
func (m *messages) Write(p []byte) (int, error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.under.Hold()
	err := m.send(p)
	if err = errors.Join(err, m.under.Release()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (m *messages) send(p []byte) error {
	for one := range slices.Chunk(p, message) {
		if err := m.ws.WriteMessage(websocket.BinaryMessage, one); err != nil {
			return err
		}
	}
	return nil
}

// Close implements net.Conn.
func (m *messages) Close() error {
	normal := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = m.ws.WriteControl(websocket.CloseMessage, normal, time.Now().Add(time.Second))
	return m.ws.Close()
}
