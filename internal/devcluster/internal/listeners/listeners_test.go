package listeners

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	var listeners []net.Listener
	for range 3 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	all := Join(listeners...)
	if all.Addr() != listeners[0].Addr() {
		t.Errorf("its address is %s, want the first one's, %s", all.Addr(), listeners[0].Addr())
	}
	for _, l := range listeners {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := all.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(server); err != nil || string(got) != "x" {
			t.Errorf("through %s: %q, %v", l.Addr(), got, err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := all.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: got %v, want net.ErrClosed", err)
	}
	for _, l := range listeners {
		if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("%s still listens", l.Addr())
		}
	}
}
