package workstation_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// way is one to the API server that can be cut.
type way struct {
	t       *testing.T
	to      string
	address string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
}

func newWay(t *testing.T, config *rest.Config) *way {
	t.Helper()
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	w := &way{t: t, to: server.Host, address: "127.0.0.1:0"}
	w.mend()
	w.address = w.listener.Addr().String()
	t.Cleanup(w.cut)
	return w
}

// config is one that goes this way.
func (w *way) config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = "https://" + w.address
	return config
}

// cut closes all connections, and accepts no more of them.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

// mend accepts connections again.
func (w *way) mend() {
	w.t.Helper()
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener, w.open = l, map[net.Conn]bool{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.relay(c)
		}
	}()
}

func (w *way) relay(c net.Conn) {
	defer c.Close()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer to.Close()
	w.mu.Lock()
	if w.open == nil {
		w.mu.Unlock()
		return
	}
	w.open[c] = true
	w.mu.Unlock()
	go func() {
		_, _ = io.Copy(to, c)
		_ = to.Close()
	}()
	_, _ = io.Copy(c, to)
}
