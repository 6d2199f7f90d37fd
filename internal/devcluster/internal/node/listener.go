package node

import (
	"net"
	"sync"
)

// manyListener is one listener on several addresses. Addr is the first one's.
type manyListener struct {
	listeners []net.Listener
	accepted  chan accepted
	closed    chan struct{}
	closing   sync.Once
}

type accepted struct {
	conn net.Conn
	err  error
}

func listenOnAll(listeners ...net.Listener) net.Listener {
	m := &manyListener{listeners: listeners, accepted: make(chan accepted), closed: make(chan struct{})}
	for _, l := range listeners {
		go m.acceptFrom(l)
	}
	return m
}

func (m *manyListener) acceptFrom(l net.Listener) {
	for {
		conn, err := l.Accept()
		select {
		case m.accepted <- accepted{conn, err}:
		case <-m.closed:
			if conn != nil {
				conn.Close()
			}
			return
		}
	}
}

// Accept implements net.Listener.
func (m *manyListener) Accept() (net.Conn, error) {
	select {
	case a := <-m.accepted:
		return a.conn, a.err
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *manyListener) Close() error {
	m.closing.Do(func() {
		close(m.closed)
		for _, l := range m.listeners {
			// What they do not accept any more is all that matters.
			_ = l.Close()
		}
	})
	return nil
}

// Addr implements net.Listener.
func (m *manyListener) Addr() net.Addr { return m.listeners[0].Addr() }
