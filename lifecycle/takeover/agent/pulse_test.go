package agent_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a connection whose uplink lets a few bytes through at a time.
type slow struct {
	net.Conn
	from time.Time // until then it is fast
}

func (s *slow) Write(p []byte) (int, error) {
	for n := 0; ; {
		piece := len(p) - n
		if time.Now().After(s.from) {
			piece = min(piece, 2<<10)
			<-time.After(time.Second)
		}
		m, err := s.Conn.Write(p[n : n+piece])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Where the uplink is slow a keepalive takes longer than a workstation may be away, behind the answers that are on the way: what
// comes of those is a sign of life. When nothing comes any more, callers are told as ever.
func TestSlowUplink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		synctest.Wait()
		dial := f.dial
		uplink := &slow{from: time.Now().Add(time.Second)}
		f.dial = func(address string) (net.Conn, error) {
			conn, err := dial(address)
			if address == "127.0.0.1:47811" {
				uplink.Conn = conn
				return uplink, err
			}
			return conn, err
		}
		l, err := n.listen(t.Context(), "big")
		if err != nil {
			t.Fatal(err)
		}
		const size = 256 << 10
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			io.ReadFull(conn, make([]byte, 1))
			conn.Write(make([]byte, size))
			conn.Close()
		}()
		w := f.serving(func(uint16) (net.Conn, error) { return n.dial("big") })
		caller, err := f.dial(":8080")
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		w.keep()
		caller.Write([]byte("x"))
		begun := time.Now()
		// Its end would not come: a connection in memory has no halves to close.
		if n, err := io.ReadFull(caller, make([]byte, size)); err != nil {
			t.Errorf("%d of %d bytes after %s: %v", n, size, time.Since(begun), err)
		}
		if took := time.Since(begun); took < time.Minute {
			t.Errorf("the uplink was fast: %s", took)
		}
		caller.Close()
		w.conn.Close()
		l.Close()
		w.served.Wait()
		f.end()
	})
}
