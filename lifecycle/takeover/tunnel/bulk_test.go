package tunnel_test

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// A process that only takes, and one that only gives, carry all of it, one connection after the other.
func TestBulk(t *testing.T) {
	t.Parallel()
	const size = 32 << 20
	s := newShop(t, 1)
	r := start(t, s.tunnelConfig(newProcess(t, func(c *net.TCPConn) {
		what := make([]byte, 1)
		if _, err := io.ReadFull(c, what); err != nil {
			return
		}
		if what[0] == 'g' {
			_, _ = io.Copy(c, bytes.NewReader(make([]byte, size)))
			return
		}
		if n, err := io.CopyN(io.Discard, c, size); err == nil && n == size {
			_, _ = c.Write(what)
		}
	})))
	pod := r.await(t, connected(1)).Pods[0].Name
	for range 3 {
		c := s.call(t, pod)
		if _, err := c.Write([]byte("t")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(c, bytes.NewReader(make([]byte, size))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		c.Close()
		c = s.call(t, pod)
		if _, err := c.Write([]byte("g")); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, c); err != nil || n != size {
			t.Fatalf("got %d bytes, %v", n, err)
		}
		c.Close()
	}
}
