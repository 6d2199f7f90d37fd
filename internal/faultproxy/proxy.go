package faultproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
)

// Proxy is a running proxy. Its methods may be called by several goroutines at once.
type Proxy struct {
	upstream  *url.URL
	transport *http.Transport
	reverse   *httputil.ReverseProxy
	server    *httptest.Server
	// end cancels every request that is still under way.
	end context.CancelFunc

	mu       sync.Mutex
	faults   []*Fault
	requests []Request
}

// Request is a request that reached the proxy.
type Request struct {
	// Method and Path are the request's own; Query is the encoded query without "?".
	Method, Path, Query string
	// Fault is the fault that the request met, or nil.
	Fault *Fault
}

// Start starts a proxy on a free loopback port in front of the server at the address, such as "http://127.0.0.1:5000". An
// address with https is reached with the given TLS configuration, and the proxy then serves https itself.
func Start(upstream string, upstreamTLS *tls.Config) (*Proxy, error) {
	u, err := url.Parse(upstream)
	if err != nil {
		return nil, fmt.Errorf("start a fault proxy: %w", err)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("start a fault proxy: %q is not the address of an HTTP server", upstream)
	}
	if upstreamTLS != nil {
		upstreamTLS = upstreamTLS.Clone()
		// Without HTTP/2, which has no upgrades.
		upstreamTLS.NextProtos = []string{"http/1.1"}
	}
	p := &Proxy{upstream: u, transport: &http.Transport{
		TLSClientConfig:     upstreamTLS,
		MaxIdleConnsPerHost: 100,
		DisableCompression:  true,
	}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		// A server that is away is away for the proxy's client too.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { cut(w) },
	}
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if u.Scheme == "https" {
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	return p, nil
}

// ForCluster starts a proxy in front of the API server that the configuration leads to. A client certificate in it is
// shown to the API server for every request, whoever makes it; tokens are each client's own.
func ForCluster(config *rest.Config) (*Proxy, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("start a fault proxy: %w", err)
	}
	return Start(config.Host, tlsConfig)
}

// Config returns a copy of the configuration that leads through the proxy.
func (p *Proxy) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host = p.URL()
	config.TLSClientConfig = rest.TLSClientConfig{}
	if cert := p.server.Certificate(); cert != nil {
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	}
	return config
}

// URL is the proxy's address, with the scheme of the server behind it.
func (p *Proxy) URL() string { return p.server.URL }

// Host is the proxy's host:port, which begins an image reference.
func (p *Proxy) Host() string { return p.server.Listener.Addr().String() }

// Add makes requests fail as the rule says from now on. Of several rules, the one that was added first is asked first.
func (p *Proxy) Add(r Rule) *Fault {
	f := newFault(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f
}

// Requests returns the requests that have reached the proxy, in order.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Close breaks all connections and stops the proxy.
func (p *Proxy) Close() {
	p.end()
	p.server.CloseClientConnections()
	p.server.Close()
	p.transport.CloseIdleConnections()
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := p.meet(r)
	switch {
	case f == nil:
		p.reverse.ServeHTTP(w, r)
	case f.rule.AfterUpstream:
		p.failAfter(w, r, f)
	default:
		// The server notices that a client goes away only once it has read the request.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			cut(w)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if f.do(w, r) {
			p.reverse.ServeHTTP(w, r)
		}
	}
}

// meet finds the fault that the request meets, if any.
func (p *Proxy) meet(r *http.Request) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var met *Fault
	for _, f := range p.faults {
		if f.meets(r) {
			met = f
			break
		}
	}
	p.requests = append(p.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Fault: met})
	return met
}

// failAfter has the server answer first and then does what the fault does; if that lets go, the answer is passed on.
func (p *Proxy) failAfter(w http.ResponseWriter, r *http.Request, f *Fault) {
	reverse := *p.reverse
	reverse.ModifyResponse = func(*http.Response) error {
		if !f.do(w, r) {
			return errFailed
		}
		return nil
	}
	reverse.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		if err != errFailed {
			p.reverse.ErrorHandler(w, r, err)
		}
	}
	reverse.ServeHTTP(w, r)
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.upstream)
	// A registry may build addresses of itself from the host that it is asked as.
	r.Out.Host = r.In.Host
}
