package agent_test

import (
	"io"
	"net"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// beset is a connection to the agent: whenever its owner says something, others connect, too.
type beset struct {
	net.Conn
	others func()
}

func (b *beset) Write(p []byte) (int, error) {
	b.others()
	n, err := b.Conn.Write(p)
	b.others()
	return n, err
}

// Others in the pod who connect without end, and say nothing or only begin to, do not keep the workstation out.
func TestNeighboursDoNotKeepTheWorkstationOut(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]string{"nothing": "", "a beginning": "\x16\x03\x01\x02\x00"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, short, wire.Port{Number: 8080})
			defer f.end()
			dial := f.dial
			var held []net.Conn
			others := func(n int) {
				for range n {
					conn, err := dial("127.0.0.1:47811")
					if err != nil {
						t.Error(err)
						return
					}
					io.WriteString(conn, say)
					held = append(held, conn)
				}
			}
			others(100)
			f.dial = func(address string) (net.Conn, error) {
				conn, err := dial(address)
				return &beset{conn, func() { others(3) }}, err
			}
			w := f.connect(nil)
			// It stays, whoever comes.
			others(100)
			w.request(wire.RequestKeepalive)
			for _, conn := range held {
				relay.Reset(conn)
			}
			w.conn.Close()
		})
	}
}
