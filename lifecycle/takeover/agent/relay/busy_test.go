package relay_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"io"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// Callers who go away in the middle of what they are told leave nothing behind: the stream goes on, however many they are.
func TestManyGoAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	agent, local := relay.New(), relay.New()
	for i := range 60 {
		j := s.join(t, agent, local, false)
		go func() { _, _ = io.Copy(j.process, endless{}) }()
		if _, err := io.ReadFull(j.caller, make([]byte, 4<<20)); err != nil {
			t.Fatalf("caller %d: %v; the stream: %v", i, err, s.agent.Wait())
		}
		relay.Reset(j.caller)
		<-j.atAgent
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

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

// Nothing of a channel comes before it is taken: its number is used once, and an offer that waits counts as long as it does.
func TestOfferedChannelIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]wire.Kind{"closed": wire.KindClose, "data": wire.KindData, "end": wire.KindEnd, "asked": wire.KindReport} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := newHostileAgent(t)
			h.send(t, wire.KindOpen, 1, wire.Connection{Port: 80}.Append(nil))
			<-s.Offers
			h.send(t, kind, 1, []byte("x"))
			if err := s.Wait(); errors.Is(err, relay.ErrClosed) || errors.Is(err, io.EOF) {
				t.Errorf("the stream ended with %v", err)
			}
		})
	}
}

// Whose key it is, is asked only of a key that the other end has: else a key that it only names could be taken over for good.
func TestKnownIsAskedOfAProvenKey(t *testing.T) {
	t.Parallel()
	named, own := anyone().Own, anyone().Own
	stolen := certificate(t, private{named}, named)
	stolen.PrivateKey = own
	near, far := tcpPair(t)
	go func() {
		_ = tls.Server(far, &tls.Config{ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{stolen}}).Handshake()
	}()
	_, err := relay.Dial(near, relay.Keys{Own: own, Known: func(ed25519.PublicKey) error {
		t.Error("it is asked")
		return nil
	}})
	if err == nil {
		t.Error("the other end is let in")
	}
}
