package relay

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// gated is a connection whose writes are let through one by one, once its gate is there.
type gated struct {
	net.Conn
	mu      sync.Mutex
	gate    chan struct{}
	waiting chan struct{}
}

func (g *gated) Write(p []byte) (int, error) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil {
		g.waiting <- struct{}{}
		<-gate
	}
	return g.Conn.Write(p)
}

// Who writes first sends his own, and not what others write without end.
func TestWriterIsLetGo(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := Keys{Own: key, Known: func(ed25519.PublicKey) error { return nil }}
	near, far := net.Pipe()
	g := &gated{Conn: near, waiting: make(chan struct{})}
	var other *Stream
	accepted := make(chan error, 1)
	go func() {
		var err error
		other, err = Accept(far, keys)
		accepted <- err
	}()
	s, err := Dial(g, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	g.mu.Lock()
	g.gate = gate
	g.mu.Unlock()

	first := make(chan error, 1)
	go func() { first <- s.out.write(wire.KindData, 7, []byte("first")) }()
	<-g.waiting
	if err := s.out.write(wire.KindData, 8, []byte("other")); err != nil {
		t.Error(err)
	}
	gate <- struct{}{} // the first one's
	<-g.waiting        // the other one's is on its way, and stays there
	if err := <-first; err != nil {
		t.Error(err)
	}
	g.mu.Lock()
	g.gate = nil
	g.mu.Unlock()
	close(gate)
	s.Close()
	other.Close()
}
