package agent_test

import (
	"context"
	"net"
	"sync"
	"testing"
)

// network is a network in memory, for tests with a clock of their own.
type network struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
}

type memoryListener struct {
	address string
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newNetwork() *network { return &network{listeners: map[string]*memoryListener{}} }

func (n *network) listen(_ context.Context, address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &memoryListener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[address] = l
	return l, nil
}

func (n *network) dial(address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: net.UnknownNetworkError(address)}
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr(l.address) }

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// startInMemory runs an agent in a bubble, and a process that listens on "process".
func startInMemory(t *testing.T, ports ...int) (*fixture, *network) {
	t.Helper()
	n := newNetwork()
	key := newKey(t)
	f := &fixture{t: t, key: key, session: newSession(key, portsOf(ports...)...), ended: make(chan error, 1)}
	f.dial = n.dial
	f.run(n.listen)
	return f, n
}
