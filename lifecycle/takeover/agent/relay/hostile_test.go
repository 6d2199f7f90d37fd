package relay_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// hostile is a workstation that writes what it likes.
type hostile struct {
	*tls.Conn
	agent *relay.Stream
}

func newHostile(t testing.TB) hostile {
	t.Helper()
	near, far := tcpPair(t)
	key := anyone().Own
	conn := tls.Client(far, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate(t, private{key}, key)}})
	h := hostile{Conn: conn}
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if h.agent, err = relay.Accept(near, anyone()); err != nil {
			t.Error(err)
		}
	})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() { h.agent.Close() })
	return h
}

// newHostileAgent is an agent that writes what it likes, and the workstation's end of its stream.
func newHostileAgent(t *testing.T) (hostile, *relay.Stream) {
	t.Helper()
	near, far := tcpPair(t)
	key := anyone().Own
	conn := tls.Server(far, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate(t, private{key}, key)}})
	shaken := make(chan error, 1)
	go func() { shaken <- conn.Handshake() }()
	s, err := relay.Dial(near, anyone())
	if err = errors.Join(err, <-shaken); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return hostile{Conn: conn}, s
}

func (h hostile) send(t testing.TB, kind wire.Kind, id uint32, payload []byte) {
	t.Helper()
	if _, err := h.Write(append(wire.Head{Kind: kind, Size: len(payload), ID: id}.Append(nil), payload...)); err != nil {
		t.Fatal(err)
	}
}

// receive reads frames until one is of the kind.
func (h hostile) receive(t testing.TB, kind wire.Kind) (wire.Head, []byte) {
	t.Helper()
	for {
		var first [wire.HeadSize]byte
		if _, err := io.ReadFull(h, first[:]); err != nil {
			t.Fatal(err)
		}
		head, err := wire.ParseHead(first)
		if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, head.Size)
		if _, err := io.ReadFull(h, payload); err != nil {
			t.Fatal(err)
		}
		if head.Kind == kind {
			return head, payload
		}
	}
}

// join has a caller whose channel the hostile workstation has taken.
func (h hostile) join(t *testing.T, r *relay.Relay) (caller *net.TCPConn, id uint32, done chan error) {
	t.Helper()
	caller, accepted := tcpPair(t)
	done = make(chan error, 1)
	go func() {
		channel, err := h.agent.Open(wire.Connection{Port: 8080})
		if err == nil {
			_, err = r.Join(relay.Pair{Conn: accepted, Channel: channel})
		}
		done <- err
	}()
	head, _ := h.receive(t, wire.KindOpen)
	h.send(t, wire.KindAccept, head.ID, nil)
	return caller, head.ID, done
}

// A peer that reports more than it got is cut off, and nobody else is.
func TestBrokenPeer(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	r := relay.New()
	caller, id, done := h.join(t, r)
	write(t, caller, []byte("request"))
	h.receive(t, wire.KindData)
	h.send(t, wire.KindConsumed, id, wire.AppendConsumed(nil, 1000))
	h.receive(t, wire.KindClose)
	h.send(t, wire.KindClose, id, nil)
	if err := <-done; err == nil {
		t.Error("the peer was believed")
	}
	other, _, _ := h.join(t, r)
	write(t, other, []byte("request"))
	if _, p := h.receive(t, wire.KindData); string(p) != "request" {
		t.Errorf("%q", p)
	}
}

// What may not be sent ends the stream, and what was open on it is cut off.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	many := func(h hostile, kind wire.Kind, id uint32, payload []byte, n int) {
		frame := append(wire.Head{Kind: kind, Size: len(payload), ID: id}.Append(nil), payload...)
		for range n {
			if _, err := h.Write(frame); err != nil {
				return // it has ended
			}
		}
	}
	for name, f := range map[string]func(h hostile, id uint32){
		"kind 0":            func(h hostile, id uint32) { many(h, 0, id, nil, 1) },
		"no kind":           func(h hostile, id uint32) { many(h, wire.KindReply+1, id, nil, 1) },
		"long":              func(h hostile, id uint32) { many(h, wire.KindData, id, make([]byte, wire.MaxData+1), 1) },
		"long request":      func(h hostile, id uint32) { many(h, wire.KindRequest, 0, make([]byte, wire.MaxPayload+1), 1) },
		"empty request":     func(h hostile, id uint32) { many(h, wire.KindRequest, 1, nil, 1) },
		"open":              func(h hostile, id uint32) { many(h, wire.KindOpen, 77, wire.Connection{Port: 1}.Append(nil), 1) },
		"open without port": func(h hostile, id uint32) { many(h, wire.KindOpen, 77, nil, 1) },
		"accepted twice":    func(h hostile, id uint32) { many(h, wire.KindAccept, id, nil, 2) },
		"rejected late":     func(h hostile, id uint32) { many(h, wire.KindReject, id, []byte{1}, 1) },
		"reply":             func(h hostile, id uint32) { many(h, wire.KindReply, 5, []byte{1}, 1) },
		"consumed":          func(h hostile, id uint32) { many(h, wire.KindConsumed, id, []byte{1}, 1) },
		"after the end": func(h hostile, id uint32) {
			many(h, wire.KindEnd, id, nil, 1)
			many(h, wire.KindData, id, []byte("more"), 1)
		},
		"without credit":   func(h hostile, id uint32) { many(h, wire.KindData, id, make([]byte, wire.MaxData), 1000) },
		"without bytes":    func(h hostile, id uint32) { many(h, wire.KindData, id, nil, 100000) },
		"in the middle":    func(h hostile, id uint32) { h.Write([]byte{4, 0, 0, 9, 0, 0, 0, byte(id), 'h', 'a'}); h.CloseWrite() },
		"a head too short": func(h hostile, id uint32) { h.Write([]byte{4, 0}); h.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			caller, accepted := tcpPair(t)
			done := make(chan error, 1)
			opened := make(chan *relay.Channel, 1)
			go func() {
				channel, err := h.agent.Open(wire.Connection{Port: 8080})
				if err != nil {
					t.Error(err)
				}
				opened <- channel
			}()
			h.receive(t, wire.KindOpen)
			go io.Copy(io.Discard, h.NetConn())
			h.send(t, wire.KindAccept, 1, nil)
			channel := <-opened
			go func() {
				_, err := relay.New().Join(relay.Pair{Conn: accepted, Channel: channel})
				done <- err
			}()
			caller.SetReadBuffer(4 << 10) // it takes nothing
			f(h, 1)
			if err := h.agent.Wait(); err == nil {
				t.Error("it has ended without a reason")
			}
			caller.Close()
			if err := <-done; err == nil && name != "after the end" {
				t.Error("it was not cut off")
			}
		})
	}
}

// Whatever comes, a stream ends with an error at the latest when its connection does.
func FuzzStream(f *testing.F) {
	f.Add(wire.Head{Kind: wire.KindAccept, ID: 1}.Append(nil))
	f.Add(append(wire.Head{Kind: wire.KindAccept, ID: 1}.Append(nil), wire.Head{Kind: wire.KindData, ID: 1}.Append(nil)...))
	f.Add(append(wire.Head{Kind: wire.KindRequest, Size: 2, ID: 1}.Append(nil), 1, 1))
	f.Add(bytes.Repeat([]byte{4, 0, 0, 0, 0, 0, 0, 1}, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := newHostile(t)
		go func() {
			for r := range h.agent.Requests {
				r.Reply(true, r.Payload)
			}
		}()
		opening := make(chan struct{})
		go func() {
			defer close(opening)
			channel, err := h.agent.Open(wire.Connection{Port: 8080})
			if err != nil {
				return
			}
			near, far := net.Pipe()
			go io.Copy(io.Discard, far)
			relay.New().Join(relay.Pair{Conn: near, Channel: channel})
		}()
		h.receive(t, wire.KindOpen)
		h.Write(b)
		h.CloseWrite()
		if err := h.agent.Wait(); err == nil {
			t.Error("it has ended without a reason")
		}
		<-opening
	})
}
