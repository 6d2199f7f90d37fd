package listeners

import (
	"net"
	"sync"
)

// joined accepts the connections of several listeners.
type joined struct {
	listeners []net.Listener
	accepted  chan accepted
	closed    chan struct{}
	closing   sync.Once
}

type accepted struct {
	conn net.Conn
	err  error
}

// Join returns a listener that accepts the connections of all of these, of which there has to be one. Its address is the
// first one's, and closing it closes them all.
func Join(listeners ...net.Listener) net.Listener {
	m := &joined{listeners: listeners, accepted: make(chan accepted), closed: make(chan struct{})}
	for _, l := range listeners {
		go m.acceptFrom(l)
	}
	return m
}

func (m *joined) acceptFrom(l net.Listener) {
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
func (m *joined) Accept() (net.Conn, error) {
	select {
	case a := <-m.accepted:
		return a.conn, a.err
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *joined) Close() error {
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
func (m *joined) Addr() net.Addr { return m.listeners[0].Addr() }
