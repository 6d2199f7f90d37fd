package agent_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// fixture is an agent that runs, with its ports somewhere on loopback.
type fixture struct {
	t         testing.TB
	session   wire.Session
	key       ed25519.PrivateKey
	addresses map[string]string // what the agent asked to listen on, to where it is
	dial      func(address string) (net.Conn, error)
	stop      context.CancelFunc // SIGTERM
	ended     chan error
}

const (
	workload = "Deployment shop/api"
	holder   = "ann@laptop"
)

func newSession(key ed25519.PrivateKey, ports ...wire.Port) wire.Session {
	return wire.Session{
		Version: wire.Version, ID: "s1",
		Key:     wire.EncodeKey(key.Public().(ed25519.PublicKey)),
		Control: wire.DefaultControl, Ports: ports, Workload: workload, Holder: holder,
		Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Away:  wire.DefaultAway, Drain: wire.DefaultDrain, Grace: wire.Duration(30 * time.Second),
	}
}

// start runs an agent on loopback.
func start(t testing.TB, edit func(*wire.Session), ports ...wire.Port) *fixture {
	t.Helper()
	return startListening(t, edit, func(_ string, l net.Listener) net.Listener { return l }, ports...)
}

// startListening has the agent accept from what it makes of its listeners.
func startListening(t testing.TB, edit func(*wire.Session), with func(address string, l net.Listener) net.Listener, ports ...wire.Port) *fixture {
	t.Helper()
	key := newKey(t)
	f := &fixture{
		t: t, key: key, session: newSession(key, ports...),
		addresses: map[string]string{}, ended: make(chan error, 1),
	}
	if edit != nil {
		edit(&f.session)
	}
	f.dial = func(address string) (net.Conn, error) { return net.Dial("tcp", f.addresses[address]) }
	listening := make(chan struct{}, 1+len(f.session.Ports))
	f.run(func(_ context.Context, address string) (net.Listener, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		f.addresses[address] = l.Addr().String()
		listening <- struct{}{}
		return with(address, l), nil
	})
	for range 1 + len(f.session.Ports) {
		<-listening
	}
	return f
}

func (f *fixture) run(listen func(context.Context, string) (net.Listener, error)) {
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	go func() {
		f.ended <- agent.Run(ctx, agent.Config{Session: f.session, Pod: "pod-1", Listen: listen})
		close(f.ended)
	}()
}

// workstation is the other end of the stream.
type workstation struct {
	t        testing.TB
	conn     *relay.Stream
	relay    *relay.Relay
	welcome  wire.Welcome
	draining chan struct{}
	served   sync.WaitGroup
}

// connect authenticates and says hello.
func (f *fixture) connect(dial func(port uint16) (net.Conn, error)) *workstation {
	f.t.Helper()
	w, err := f.tryConnect(f.key, f.session.ID, dial)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

type refused string

func (r refused) Error() string { return string(r) }

func (f *fixture) tryConnect(key ed25519.PrivateKey, id string, dial func(port uint16) (net.Conn, error)) (*workstation, error) {
	conn, err := f.dial("127.0.0.1:47811")
	if err != nil {
		return nil, err
	}
	stream, err := relay.Dial(conn, relay.Keys{Own: key, Known: func(ed25519.PublicKey) error { return nil }})
	if err != nil {
		conn.Close()
		return nil, err
	}
	w := &workstation{t: f.t, conn: stream, relay: relay.New(), draining: make(chan struct{})}
	go func() {
		for r := range stream.Requests {
			if r.Name == wire.RequestDraining {
				close(w.draining)
			}
		}
	}()
	go func() {
		for o := range stream.Offers {
			w.served.Go(func() { w.accept(o, dial) })
		}
	}()
	hello, err := json.Marshal(wire.Hello{Version: wire.Version, Session: id})
	if err != nil {
		return nil, err
	}
	ok, reply, err := stream.Ask(wire.RequestHello, hello)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		stream.Close()
		return nil, refused(reply)
	}
	return w, json.Unmarshal(reply, &w.welcome)
}

func (w *workstation) accept(o *relay.Offer, dial func(port uint16) (net.Conn, error)) {
	conn, err := dial(o.Connection.Port)
	if err != nil {
		o.Reject(wire.ReasonProcess)
		return
	}
	channel, err := o.Accept()
	if err != nil {
		conn.Close()
		return
	}
	w.relay.Join(relay.Pair{Conn: conn, Channel: channel})
}

func (w *workstation) request(name wire.Request) {
	w.t.Helper()
	ok, _, err := w.conn.Ask(name, nil)
	if err != nil || !ok {
		w.t.Fatalf("%s: %v, %v", name, ok, err)
	}
}

// keep gives signs of life until the stream ends.
func (w *workstation) keep() {
	w.served.Go(func() {
		for tick := time.Tick(wire.KeepaliveInterval); ; <-tick {
			if _, _, err := w.conn.Ask(wire.RequestKeepalive, nil); err != nil {
				return
			}
		}
	})
}

// serving connects a workstation that serves.
func (f *fixture) serving(dial func(port uint16) (net.Conn, error)) *workstation {
	f.t.Helper()
	w := f.connect(dial)
	w.request(wire.RequestServe)
	return w
}
