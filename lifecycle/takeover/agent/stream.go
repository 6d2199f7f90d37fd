package agent

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// handshakeTimeout is how long whoever connects may take to prove that he is
	// the workstation, and to say hello.
	handshakeTimeout = 10 * time.Second
	// maxHandshakes is how many may try at once. The oldest goes for a newer one: anybody
	// in the pod can connect, and who only stays does not keep the workstation out. Who
	// connects so often in the time of one handshake does: nothing tells them apart.
	maxHandshakes = 32
)

// stream is the workstation's connection.
type stream struct {
	*relay.Stream
	pulse *pulse
}

// control serves the streams of whoever holds the session's key.
type control struct {
	keys    relay.Keys
	session wire.Session
	welcome wire.Welcome
	gate    *gate
	log     *slog.Logger
}

func newControl(session wire.Session, welcome wire.Welcome, g *gate, log *slog.Logger) (*control, error) {
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	workstation := session.PublicKey()
	keys := relay.Keys{Own: own, Known: func(key ed25519.PublicKey) error {
		if !workstation.Equal(key) {
			return errors.New("not the session's key")
		}
		return nil
	}}
	return &control{keys: keys, session: session, welcome: welcome, gate: g, log: log}, nil
}

// serve accepts until listener is closed, and returns when all streams have ended.
func (c *control) serve(ctx context.Context, listener net.Listener) {
	var streams sync.WaitGroup
	defer streams.Wait()
	handshakes := lobby{most: maxHandshakes, free: func() int { return 0 }}
	accept(ctx, listener, c.log, func(conn net.Conn) {
		leave := handshakes.admit(ctx, conn)
		streams.Go(func() {
			defer conn.Close()
			defer leave()
			p := newPulse(conn, time.Duration(c.session.Away))
			defer p.stop()
			if err := c.stream(ctx, p, leave); err != nil && ctx.Err() == nil {
				c.log.Info("a workstation's stream ended", "reason", err.Error())
			}
		})
	})
}

// stream serves one connection to its end. It calls known when it is a workstation.
func (c *control) stream(ctx context.Context, conn *pulse, known func()) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	hello := time.AfterFunc(handshakeTimeout, func() { conn.Close() })
	defer hello.Stop()

	accepted, err := relay.Accept(conn, c.keys)
	if err != nil {
		stop()
		return fmt.Errorf("authenticate: %w", err)
	}
	s := &stream{accepted, conn}
	defer s.Close()
	if stop() {
		stop = context.AfterFunc(ctx, func() { s.Close() })
		defer stop()
	}
	var aside sync.WaitGroup
	defer aside.Wait()

	defer func() { c.gate.leave(s) }()
	greeted := false
	for request := range s.Requests {
		ok, reply := false, []byte(nil)
		switch {
		case request.Name == wire.RequestHello && !greeted:
			if ok, reply = c.greet(request.Payload); ok {
				greeted = true
				hello.Stop()
				known()
				if before := c.gate.enter(s); before != nil {
					aside.Go(func() { before.Close() })
				}
				c.log.Info("the workstation is connected")
			}
		case !greeted:
		case request.Name == wire.RequestServe:
			ok = c.gate.serve(s, true)
		case request.Name == wire.RequestHold:
			ok = c.gate.serve(s, false)
		case request.Name == wire.RequestKeepalive:
			ok = true
		}
		request.Reply(ok, reply)
	}
	return s.Wait()
}

// greet answers a hello.
func (c *control) greet(payload []byte) (ok bool, reply []byte) {
	var hello wire.Hello
	if err := json.Unmarshal(payload, &hello); err != nil {
		return false, []byte("the payload of the hello is not JSON")
	}
	if hello.Version != wire.Version {
		return false, fmt.Appendf(nil, "this agent speaks version %d, not %d", wire.Version, hello.Version)
	}
	if hello.Session != c.session.ID {
		return false, []byte("this agent belongs to another session")
	}
	reply, err := json.Marshal(c.welcome)
	return err == nil, reply
}
