package relay_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// exampleKey is the host key of examples.
var exampleKey = must(ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))))

func must(s ssh.Signer, err error) ssh.Signer {
	if err != nil {
		panic(err)
	}
	return s
}

// stream is both ends of an SSH connection over loopback.
type stream struct {
	from     *ssh.ServerConn // opens channels to the client
	client   ssh.Conn
	incoming <-chan ssh.NewChannel
}

func newSigner(t testing.TB) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
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
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(newSigner(t))
	s := &stream{}
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, channels, requests, err := ssh.NewServerConn(relay.Transport(a), config)
		if err != nil {
			t.Error(err)
			return
		}
		go ssh.DiscardRequests(requests)
		go func() {
			for c := range channels {
				c.Reject(ssh.Prohibited, "")
			}
		}()
		s.from = conn
	})
	conn, channels, requests, err := ssh.NewClientConn(relay.Transport(b), "", &ssh.ClientConfig{
		User: wire.User, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	s.client, s.incoming = conn, channels
	t.Cleanup(func() {
		s.client.Close()
		s.from.Close()
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
		channel, requests, err := (<-s.incoming).Accept()
		if err != nil {
			j.atLocal <- outcome{err: err}
			return
		}
		result, err := local.Join(relay.Pair{Conn: dialled, Channel: channel, Requests: requests})
		j.atLocal <- outcome{result, err}
	}()
	channel, requests, err := s.from.OpenChannel(wire.ChannelConnection, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		result, err := agent.Join(relay.Pair{Conn: accepted, Channel: channel, Requests: requests, KeepUnanswered: keep})
		j.atAgent <- outcome{result, err}
	}()
	return j
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
	j := s.join(t, relay.New(relay.Config{}), relay.New(relay.Config{}), false)
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
	agent, local := relay.New(relay.Config{}), relay.New(relay.Config{})
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
	j := s.join(t, relay.New(relay.Config{}), relay.New(relay.Config{}), false)
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

// A peer that reports more than it got is cut off, and nobody else is.
func TestBrokenPeer(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	caller, accepted := tcpPair(t)
	r := relay.New(relay.Config{})
	channels := make(chan ssh.Channel, 1)
	go func() {
		channel, requests, err := (<-s.incoming).Accept()
		if err != nil {
			t.Error(err)
			return
		}
		go ssh.DiscardRequests(requests)
		channels <- channel
	}()
	channel, requests, err := s.from.OpenChannel(wire.ChannelConnection, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.Join(relay.Pair{Conn: accepted, Channel: channel, Requests: requests})
		done <- err
	}()
	write(t, caller, []byte("request"))
	peer := <-channels
	read(t, peer, []byte("request"))
	if _, err := peer.SendRequest(wire.RequestConsumed, false, ssh.Marshal(wire.Consumed{Bytes: 1000})); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the peer was believed")
	}
	other := s.join(t, r, relay.New(relay.Config{}), false)
	write(t, other.caller, []byte("request"))
	read(t, other.process, []byte("request"))
}

// What was written before a close is sent.
func TestTransportSendsBeforeItCloses(t *testing.T) {
	t.Parallel()
	near, far := tcpPair(t)
	data := random(t, 1<<20)
	go func() {
		w := relay.Transport(near)
		w.Write(data[:1<<19])
		w.Write(data[1<<19:])
		w.Close()
		if _, err := w.Write([]byte("late")); err == nil {
			t.Error("written after the close")
		}
	}()
	got, err := io.ReadAll(far)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A write does not wait for the other end, and a close does not wait for long.
func TestTransportDoesNotWait(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe() // nobody reads
	defer far.Close()
	w := relay.Transport(near)
	for range 100 {
		write(t, w, make([]byte, 10000))
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
