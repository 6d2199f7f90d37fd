package portforwardtest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/rest"
)

// Front is an API server whose port-forwards are a Peer's.
type Front struct {
	server *httptest.Server
	// Config leads to it, with the rights of the configuration that it was made from.
	Config *rest.Config
}

// NewFront starts a Front for the API server that the configuration leads to.
func NewFront(upstream *rest.Config, peer *Peer) (*Front, error) {
	address, err := url.Parse(upstream.Host)
	if err != nil {
		return nil, fmt.Errorf("start a front: %w", err)
	}
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, fmt.Errorf("start a front: %w", err)
	}
	reverse := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(address) },
		Transport:     transport,
		FlushInterval: -1,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Path.MatchString(r.URL.Path) {
			peer.ServeHTTP(w, r)
			return
		}
		reverse.ServeHTTP(w, r)
	}))
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &Front{server: server, Config: &rest.Config{
		Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
	}}, nil
}

// Close breaks all connections and stops.
func (f *Front) Close() {
	f.server.CloseClientConnections()
	f.server.Close()
}
