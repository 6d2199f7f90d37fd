package relay_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// stream is both ends of a stream over loopback.
type stream struct {
	agent, workstation *relay.Stream
}

// anyone are the keys of an end that takes any other.
func anyone() relay.Keys {
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return relay.Keys{Own: own, Known: func(ed25519.PublicKey) error { return nil }}
}

// tcpPair returns the two ends of a connection over loopback.
func tcpPair(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialled, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		dialled.Close()
		accepted.Close()
	})
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

func newStream(t testing.TB) *stream {
	t.Helper()
	a, b := tcpPair(t)
	return newStreamOver(t, a, b)
}

// newStreamOver returns both ends of a stream over a connection, of which they are the ends.
func newStreamOver(t testing.TB, a, b net.Conn) *stream {
	t.Helper()
	s := &stream{}
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if s.agent, err = relay.Accept(a, anyone()); err != nil {
			t.Error(err)
		}
	})
	var err error
	if s.workstation, err = relay.Dial(b, anyone()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		s.workstation.Close()
		s.agent.Close()
	})
	return s
}

type outcome struct {
	relay.Result
	err error
}

// joined is a connection from caller to process through a stream.
type joined struct {
	caller, process  *net.TCPConn
	atAgent, atLocal chan outcome
}

func (s *stream) join(t testing.TB, agent, local *relay.Relay, keep bool) joined {
	t.Helper()
	caller, accepted := tcpPair(t)
	dialled, process := tcpPair(t)
	j := joined{caller: caller, process: process, atAgent: make(chan outcome, 1), atLocal: make(chan outcome, 1)}
	go func() {
		channel, err := (<-s.workstation.Offers).Accept()
		if err != nil {
			j.atLocal <- outcome{err: err}
			return
		}
		result, err := local.Join(relay.Pair{Conn: dialled, Channel: channel})
		j.atLocal <- outcome{result, err}
	}()
	channel := s.open(t)
	go func() {
		result, err := agent.Join(relay.Pair{Conn: accepted, Channel: channel, KeepUnanswered: keep})
		j.atAgent <- outcome{result, err}
	}()
	return j
}

func (s *stream) open(t testing.TB) *relay.Channel {
	t.Helper()
	channel, err := s.agent.Open(wire.Connection{Port: 8080, Peer: "10.0.0.1:41234"})
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

func write(t testing.TB, w io.Writer, p []byte) {
	t.Helper()
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, r io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read %.40q", got)
	}
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	p := make([]byte, n)
	if _, err := rand.Read(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	j := s.join(t, relay.New(), relay.New(), false)
	request, answer := random(t, 5<<20), random(t, 5<<20)
	go func() {
		j.caller.Write(request)
		j.caller.CloseWrite()
	}()
	got, err := io.ReadAll(j.process)
	if err != nil || !bytes.Equal(got, request) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	go func() {
		j.process.Write(answer)
		j.process.Close()
	}()
	got, err = io.ReadAll(j.caller)
	if err != nil || !bytes.Equal(got, answer) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	agent, local := <-j.atAgent, <-j.atLocal
	if agent.err != nil || local.err != nil {
		t.Error(agent.err, local.err)
	}
	if agent.Sent != int64(len(request)) || agent.Received != int64(len(answer)) {
		t.Errorf("%+v", agent)
	}
}

func TestBothWaysAtOnce(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	agent, local := relay.New(), relay.New()
	var wg sync.WaitGroup
	for range 20 {
		j := s.join(t, agent, local, false)
		data := random(t, 2<<20)
		for _, ends := range [][2]*net.TCPConn{{j.caller, j.process}, {j.process, j.caller}} {
			wg.Go(func() {
				ends[0].Write(data)
				ends[0].CloseWrite()
			})
			wg.Go(func() {
				got, err := io.ReadAll(ends[1])
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
	}
	wg.Wait()
}

// An answer that ended before the process stopped reading arrives whole.
func TestEarlyAnswerIsWhole(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	j := s.join(t, relay.New(), relay.New(), false)
	answer := random(t, 1<<20)
	write(t, j.caller, []byte("begin"))
	read(t, j.process, []byte("begin"))
	go func() {
		j.process.Write(answer)
		j.process.Close()
	}()
	got, err := io.ReadAll(j.caller)
	if err != nil || !bytes.Equal(got, answer) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}
