package portforwardtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	subprotocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Path is that of the requests that Peer answers.
var Path = regexp.MustCompile(`^/api/v1/namespaces/([^/]+)/pods/([^/]+)/portforward$`)

// Peer answers requests for port-forwards. It is safe for concurrent use.
type Peer struct {
	// Dial reaches a port of a pod.
	Dial func(pod string, port uint16) (net.Conn, error)
	// WebSockets says that it takes them, too.
	WebSockets bool
	// Refuse, if it returns true, has answered a request that is to be refused.
	Refuse func(w http.ResponseWriter, r *http.Request, pod string) bool

	mu    sync.Mutex
	conns map[*frozen]string
	made  int
}

// Made is how many connections there have been.
func (p *Peer) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// Cut breaks the connections to a pod.
func (p *Peer) Cut(pod string) {
	for _, c := range p.of(pod) {
		_ = c.Conn.Close()
		c.thaw()
	}
}

// Freeze has the connections to a pod neither read nor write any more.
func (p *Peer) Freeze(pod string) {
	for _, c := range p.of(pod) {
		c.freeze()
	}
}

func (p *Peer) of(pod string) []*frozen {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []*frozen
	for c, of := range p.conns {
		if of == pod {
			conns = append(conns, c)
		}
	}
	return conns
}

// ServeHTTP implements http.Handler.
func (p *Peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := Path.FindStringSubmatch(r.URL.Path)
	if m == nil {
		http.NotFound(w, r)
		return
	}
	pod := m[2]
	if p.Refuse != nil && p.Refuse(w, r, pod) {
		return
	}
	if r.Method != http.MethodPost && !p.WebSockets {
		http.Error(w, "no WebSockets here", http.StatusBadRequest)
		return
	}
	h := &hijacker{ResponseWriter: w, took: func(c net.Conn) net.Conn { return p.took(c, pod) }}
	pairs := &pairs{ready: make(chan struct{}), dial: func(port uint16) (net.Conn, error) { return p.Dial(pod, port) }}
	var conn httpstream.Connection
	if r.Method == http.MethodPost {
		w.Header().Set(httpstream.HeaderProtocolVersion, subprotocol.PortForwardV1Name)
		conn = spdy.NewResponseUpgrader().UpgradeResponse(h, r, pairs.add)
	} else {
		conn = overWebSocket(h, r, pairs.add)
	}
	if conn == nil {
		return
	}
	pairs.conn = conn
	close(pairs.ready)
	<-conn.CloseChan()
	_ = conn.Close()
	h.conn.Close()
}

// overWebSocket does as the API server, with what client-go has of it.
func overWebSocket(w http.ResponseWriter, r *http.Request, add httpstream.NewStreamHandler) httpstream.Connection {
	upgrader := websocket.Upgrader{Subprotocols: []string{subprotocol.WebsocketsSPDYTunnelingPortForwardV1}}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil
	}
	conn, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("server", ws), add)
	if err != nil {
		_ = ws.Close()
		return nil
	}
	return conn
}

// took has a connection to a pod be one that can be cut and frozen.
func (p *Peer) took(c net.Conn, pod string) net.Conn {
	f := newFrozen(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		p.conns = map[*frozen]string{}
	}
	p.conns[f] = pod
	p.made++
	f.gone = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, f)
	}
	return f
}

// pairs puts the two streams of each request together.
type pairs struct {
	dial func(port uint16) (net.Conn, error)
	// conn is there once ready is closed.
	conn  httpstream.Connection
	ready chan struct{}
	mu    sync.Mutex
	half  map[string]httpstream.Stream
}

func (p *pairs) add(s httpstream.Stream, replied <-chan struct{}) error {
	port, err := strconv.ParseUint(s.Headers().Get(corev1.PortHeader), 10, 16)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.half == nil {
		p.half = map[string]httpstream.Stream{}
	}
	id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
	other, ok := p.half[id]
	if !ok {
		p.half[id] = s
		return nil
	}
	delete(p.half, id)
	data, errs := s, other
	if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		data, errs = other, s
	}
	go func() {
		<-replied
		defer data.Close()
		defer errs.Close()
		if err := p.forward(uint16(port), data); err != nil {
			fmt.Fprintf(errs, "forward port %d: %v", port, err)
			_ = data.Reset()
			_ = errs.Reset()
		}
		<-p.ready
		p.conn.RemoveStreams(data, errs)
	}()
	return nil
}

// forward does as containerd: the end of one direction is that of both, a second later.
func (p *pairs) forward(port uint16, data httpstream.Stream) error {
	conn, err := p.dial(port)
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(data, conn)
		ended <- err
	}()
	go func() {
		_, err := io.Copy(conn, data)
		ended <- err
	}()
	err = <-ended
	select {
	case second := <-ended:
		if err == nil {
			err = second
		}
	case <-time.After(time.Second):
	}
	return err
}

// hijacker gives the connection that is taken over from the server to its test.
type hijacker struct {
	http.ResponseWriter
	took func(net.Conn) net.Conn
	conn net.Conn
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	taken, ok := h.ResponseWriter.(http.Hijacker)
	if !ok {
		return nil, nil, errors.New("this connection cannot be taken over")
	}
	conn, rw, err := taken.Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = h.took(conn)
	return h.conn, rw, nil
}

// frozen is a connection that can be made to stand still.
type frozen struct {
	net.Conn
	gone func()

	mu      sync.Mutex
	still   bool
	moved   *sync.Cond
	oneTime sync.Once
}

func newFrozen(c net.Conn) *frozen {
	f := &frozen{Conn: c}
	f.moved = sync.NewCond(&f.mu)
	return f
}

func (f *frozen) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.still = true
}

func (f *frozen) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.still = false
	f.moved.Broadcast()
}

func (f *frozen) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.still {
		f.moved.Wait()
	}
}

func (f *frozen) Read(p []byte) (int, error) {
	f.wait()
	n, err := f.Conn.Read(p)
	f.wait()
	return n, err
}

func (f *frozen) Write(p []byte) (int, error) {
	f.wait()
	return f.Conn.Write(p)
}

func (f *frozen) Close() error {
	f.oneTime.Do(f.gone)
	f.thaw()
	return f.Conn.Close()
}
