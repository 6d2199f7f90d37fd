package agent_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// measured is a listener that knows how much was asked of its connections at once.
type measured struct {
	net.Listener
	most *atomic.Int64
}

func (m measured) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return measuredConn{c.(*net.TCPConn), m.most}, nil
}

type measuredConn struct {
	*net.TCPConn
	most *atomic.Int64
}

func (m measuredConn) Read(p []byte) (int, error) {
	if n := int64(len(p)); n > m.most.Load() {
		m.most.Store(n)
	}
	return m.TCPConn.Read(p)
}

// What a caller sends without a pause is read in big pieces, although its frames are
// followed: every piece is a packet of the stream.
func TestBulkIsReadInBigPieces(t *testing.T) {
	t.Parallel()
	const size, big = 4 << 20, 16 << 10
	process, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	go func() {
		c, err := process.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if n, err := io.CopyN(io.Discard, c, size); err != nil {
			t.Errorf("the process got %d bytes, %v", n, err)
		}
		c.Write([]byte("!"))
	}()
	var most atomic.Int64
	f := startListening(t, short, func(address string, l net.Listener) net.Listener {
		if address != ":8080" {
			return l
		}
		return measured{l, &most}
	}, wire.Port{Number: 8080})
	defer f.end()
	w := f.serving(to(process.Addr().String()))
	defer w.conn.Close()
	caller, err := f.dial(":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	if _, err := caller.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(caller, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n := most.Load(); n < big {
		t.Errorf("at most %d bytes were read at once", n)
	}
}
