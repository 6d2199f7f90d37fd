package tunnel

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// said is a connection of which one end has said all that it has to say.
type said struct{ net.Conn }

func (said) Read([]byte) (int, error) { return 0, io.EOF }
func (said) CloseWrite() error        { return nil }

// Connections whose callers have gone, while the process still takes what they sent, count as open: no others are opened
// beyond as many as a stream may have.
func TestConnectionsOfCallersThatHaveGoneCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dialled atomic.Int64
		processes := make(chan net.Conn, 2)
		tunnel := &Tunnel{relay: relay.New(), log: slog.New(slog.DiscardHandler), config: Config{
			Session: wire.Session{Ports: []wire.Port{{Number: 80}}, Away: wire.DefaultAway},
			Dial: func(context.Context, uint16) (net.Conn, error) {
				dialled.Add(1)
				near, far := net.Pipe() // a write ends when all of it was read
				processes <- far
				return said{near}, nil
			},
		}}
		agent, workstation := newStream(t)
		l := &link{peer: &peer{tunnel: tunnel, name: "pod"}, stream: workstation, idle: make(chan struct{}, 1), places: make(chan struct{}, 1)}
		l.taking, l.refuse = context.WithCancel(t.Context())
		defer l.refuse()
		go func() {
			for offer := range workstation.Offers {
				go l.serve(t.Context(), offer)
			}
		}()
		callers := relay.New()
		call := func() error {
			channel, err := agent.Open(wire.Connection{Port: 80})
			if err != nil {
				return err
			}
			near, far := net.Pipe()
			go func() {
				_, _ = io.WriteString(far, "request")
				far.Close()
			}()
			_, err = callers.Join(relay.Pair{Conn: near, Channel: channel})
			return err
		}
		if err := call(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := call(); !errors.Is(err, relay.Rejected{Reason: wire.ReasonProcess}) {
			t.Errorf("another one: %v", err)
		}
		if n, took := dialled.Load(), time.Since(begun); n != 1 || took != time.Duration(wire.DefaultAway)/dialShare {
			t.Errorf("%d were opened, and another one was refused after %s", n, took)
		}
		next := make(chan error)
		go func() { next <- call() }()
		synctest.Wait()
		for range 2 {
			if got, err := io.ReadAll(<-processes); string(got) != "request" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if err := <-next; err != nil {
			t.Error(err)
		}
		agent.Close()
		workstation.Close()
	})
}

// newStream returns both ends of a stream in memory.
func newStream(t *testing.T) (agent, workstation *relay.Stream) {
	t.Helper()
	keys := func() relay.Keys {
		_, own, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return relay.Keys{Own: own, Known: func(ed25519.PublicKey) error { return nil }}
	}
	near, far := net.Pipe()
	accepted := make(chan error, 1)
	own := keys()
	go func() {
		var err error
		agent, err = relay.Accept(near, own)
		accepted <- err
	}()
	workstation, err := relay.Dial(far, keys())
	if err = errors.Join(err, <-accepted); err != nil {
		t.Fatal(err)
	}
	return agent, workstation
}
