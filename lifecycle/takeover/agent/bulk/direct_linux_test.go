package bulk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// pair is a direct connection, and its far end as the system has it.
func pair(t *testing.T) (net.Conn, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return newDirect(near.(*net.TCPConn)), far.(*net.TCPConn)
}

// All bytes come, in both directions at once, whatever the sizes, also where the other end is slow to take them.
func TestDirectCarriesBytes(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	want := make([]byte, 8<<20)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(want)
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{far}, struct{ io.Reader }{far})
		far.CloseWrite()
	}()
	go func() {
		sizes := rand.New(rand.NewPCG(1, 2))
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+sizes.IntN(1<<20))
			if m, err := near.Write(rest[:n]); m != n || err != nil {
				t.Errorf("wrote %d of %d: %v", m, n, err)
			}
			rest = rest[n:]
		}
		if err := near.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(near)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if n, err := near.Read(nil); n != 0 || err != nil {
		t.Errorf("nothing is asked for: %d, %v", n, err)
	}
	if n, err := near.Write(nil); n != 0 || err != nil {
		t.Errorf("nothing is written: %d, %v", n, err)
	}
}

// What does not work is told as by the system's own connection.
func TestDirectErrors(t *testing.T) {
	t.Parallel()
	big := make([]byte, 64<<20)
	for name, tc := range map[string]struct {
		do   func(near net.Conn, far *net.TCPConn) error
		want error
	}{
		"read after a deadline": {func(near net.Conn, _ *net.TCPConn) error {
			near.SetReadDeadline(time.Unix(1, 0))
			_, err := near.Read(make([]byte, 1))
			return err
		}, os.ErrDeadlineExceeded},
		"write after a deadline": {func(near net.Conn, _ *net.TCPConn) error {
			near.SetWriteDeadline(time.Unix(1, 0))
			_, err := near.Write([]byte("x"))
			return err
		}, os.ErrDeadlineExceeded},
		"a write that a deadline ends": {func(near net.Conn, _ *net.TCPConn) error {
			near.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			n, err := near.Write(big)
			if n == 0 || n == len(big) {
				t.Errorf("wrote %d", n)
			}
			return err
		}, os.ErrDeadlineExceeded},
		"read of what is closed": {func(near net.Conn, _ *net.TCPConn) error {
			near.Close()
			_, err := near.Read(make([]byte, 1))
			return err
		}, net.ErrClosed},
		"a read that a close ends": {func(near net.Conn, _ *net.TCPConn) error {
			ended := make(chan error)
			go func() {
				_, err := near.Read(make([]byte, 1))
				ended <- err
			}()
			near.Close()
			return <-ended
		}, net.ErrClosed},
		"a write that a close ends": {func(near net.Conn, _ *net.TCPConn) error {
			ended := make(chan error)
			go func() {
				_, err := near.Write(big)
				ended <- err
			}()
			near.Close()
			return <-ended
		}, net.ErrClosed},
		"the end": {func(near net.Conn, far *net.TCPConn) error {
			far.Close()
			_, err := near.Read(make([]byte, 1))
			return err
		}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := pair(t)
			err := tc.do(near, far)
			if !errors.Is(err, tc.want) {
				t.Errorf("%v", err)
			}
			var of *net.OpError
			if tc.want != io.EOF && (!errors.As(err, &of) || of.Op != "read" && of.Op != "write" || of.Addr == nil) {
				t.Errorf("%#v", err)
			}
		})
	}
}

// A reset is one, and a connection that can no longer be written to does not end the process.
func TestDirectReset(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	far.SetLinger(0)
	far.Close()
	var failed error
	for failed == nil {
		_, failed = near.Write([]byte("x"))
	}
	if n, err := near.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d, %v", n, err)
	}
}

// A write is one piece, also where others write: as it is on the system's own connection.
func TestDirectWritesAreWhole(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	if err := near.(*direct).SetWriteBuffer(16 << 10); err != nil { // less than one
		t.Fatal(err)
	}
	const size, writers, rounds = 64 << 10, 16, 16
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for range rounds {
				if _, err := near.Write(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		group.Wait()
		near.Close()
	}()
	all, err := io.ReadAll(far)
	if err != nil || len(all) != size*writers*rounds {
		t.Fatal(len(all), err)
	}
	for ; len(all) > 0; all = all[size:] {
		if !bytes.Equal(all[:size], bytes.Repeat(all[:1], size)) {
			t.Fatal("a write was torn by another")
		}
	}
}
