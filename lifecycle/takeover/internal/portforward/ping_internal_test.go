package portforward

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	subprotocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
)

// stuck is a connection whose writes wait, and that tells of deadlines for them.
type stuck struct {
	net.Conn
	writes    chan struct{} // gets one for each
	released  chan struct{} // closed when they go on
	deadlines chan time.Time
}

func (s *stuck) Write(p []byte) (int, error) {
	select {
	case s.writes <- struct{}{}:
	default:
	}
	<-s.released
	return s.Conn.Write(p)
}

func (s *stuck) SetWriteDeadline(d time.Time) error {
	if !d.IsZero() {
		s.deadlines <- d
	}
	return s.Conn.SetWriteDeadline(d)
}

// A ping of a WebSocket that comes while the far end takes nothing is answered afterwards: neither is what is written given a deadline
// for it, nor does who reads wait.
func TestPingWhileAWriteWaits(t *testing.T) {
	t.Parallel()
	ponged, ping := make(chan string, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{subprotocol.WebsocketsSPDYTunnelingPortForwardV1}}
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		<-ping
		err = errors.Join(
			ws.WriteControl(websocket.PingMessage, []byte("there?"), time.Time{}),
			ws.WriteMessage(websocket.BinaryMessage, []byte("x")))
		if err != nil {
			t.Error(err)
		}
		ws.SetPongHandler(func(said string) error {
			ponged <- said
			return nil
		})
		for err == nil {
			_, _, err = ws.ReadMessage()
		}
	}))
	t.Cleanup(server.Close)
	d, err := New(&rest.Config{Host: server.URL}, Only(WebSocket))
	if err != nil {
		t.Fatal(err)
	}
	address := d.client.Post().Resource("pods").Namespace("shop").Name("web").SubResource("portforward").URL()
	conn, err := d.dialWebSocket(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	m := conn.(*messages)
	under := &stuck{Conn: m.under.Conn, writes: make(chan struct{}, 1), released: make(chan struct{}), deadlines: make(chan time.Time, 8)}
	m.under.Conn = under
	t.Cleanup(func() { under.Conn.Close() })

	written, read := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := m.Write(make([]byte, 3*message))
		written <- err
	}()
	<-under.writes
	close(ping)
	go func() {
		p := make([]byte, 1)
		_, err := m.Read(p)
		if err == nil && p[0] != 'x' {
			err = errors.New("another byte")
		}
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil {
			t.Error(err)
		}
	case d := <-under.deadlines:
		t.Errorf("what is written has to end by %s", d)
	}
	close(under.released)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if said := <-ponged; said != "there?" {
		t.Errorf("answered %q", said)
	}
}
