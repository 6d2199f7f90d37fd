package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// handshakeTimeout is how long whoever connects may take to prove that he is
	// the workstation, and to say hello.
	handshakeTimeout = 10 * time.Second
	// maxHandshakes is how many may try at once.
	maxHandshakes = 8
)

// stream is the workstation's connection.
type stream struct {
	*ssh.ServerConn
	life atomic.Int64 // time of the last request, in nanoseconds since 1970
}

func (s *stream) live() { s.life.Store(time.Now().UnixNano()) }

func (s *stream) lastLife() time.Time { return time.Unix(0, s.life.Load()) }

// open opens a channel for a connection. It returns when the workstation has taken or
// rejected it, or the stream is over.
func (s *stream) open(port uint16, peer string) (ssh.Channel, <-chan *ssh.Request, error) {
	return s.OpenChannel(wire.ChannelConnection, ssh.Marshal(wire.Connection{Port: uint32(port), Peer: peer}))
}

// control serves the streams of whoever holds the session's key.
type control struct {
	config  *ssh.ServerConfig
	session wire.Session
	welcome wire.Welcome
	gate    *gate
	log     *slog.Logger
}

func newControl(session wire.Session, welcome wire.Welcome, g *gate, log *slog.Logger) (*control, error) {
	key, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(session.Key))
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(fmt.Errorf("read the session's public key %q", session.Key), err)
	}
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a host key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		return nil, fmt.Errorf("make a host key: %w", err)
	}
	allowed := key.Marshal()
	config := &ssh.ServerConfig{
		MaxAuthTries:  3,
		ServerVersion: "SSH-2.0-pharos-agent",
		PublicKeyCallback: func(meta ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
			if meta.User() != wire.User || !bytes.Equal(offered.Marshal(), allowed) {
				return nil, errors.New("not the session's key")
			}
			return nil, nil
		},
	}
	config.AddHostKey(signer)
	return &control{config: config, session: session, welcome: welcome, gate: g, log: log}, nil
}

// serve accepts until listener is closed, and returns when all streams have ended.
func (c *control) serve(ctx context.Context, listener net.Listener) {
	var streams sync.WaitGroup
	defer streams.Wait()
	handshakes := make(chan struct{}, maxHandshakes)
	accept(ctx, listener, c.log, func(conn net.Conn) {
		select {
		case handshakes <- struct{}{}:
		default:
			conn.Close()
			return
		}
		streams.Go(func() {
			var once sync.Once
			done := func() { once.Do(func() { <-handshakes }) }
			defer done()
			if err := c.stream(ctx, conn, done); err != nil && ctx.Err() == nil {
				c.log.Info("a workstation's stream ended", "reason", err.Error())
			}
		})
	})
}

// stream serves one connection to its end. It calls known when it is a workstation.
func (c *control) stream(ctx context.Context, conn net.Conn, known func()) error {
	transport := relay.Transport(conn)
	defer transport.Close()
	stop := context.AfterFunc(ctx, func() { transport.Close() })
	defer stop()
	hello := time.AfterFunc(handshakeTimeout, func() { conn.Close() })
	defer hello.Stop()

	server, channels, requests, err := ssh.NewServerConn(transport, c.config)
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	s := &stream{ServerConn: server}
	var aside sync.WaitGroup
	defer aside.Wait()
	aside.Go(func() {
		for channel := range channels {
			channel.Reject(ssh.Prohibited, "channels are opened by the agent")
		}
	})
	defer server.Close()

	silent := time.AfterFunc(time.Duration(c.session.Away), func() { conn.Close() })
	defer silent.Stop()
	defer func() { c.gate.leave(s, s.lastLife()) }()
	greeted := false
	for request := range requests {
		s.live()
		silent.Reset(time.Duration(c.session.Away))
		ok, reply := false, []byte(nil)
		switch {
		case request.Type == wire.RequestHello && !greeted:
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
		case request.Type == wire.RequestServe:
			ok = c.gate.serve(s, true)
		case request.Type == wire.RequestHold:
			ok = c.gate.serve(s, false)
		case request.Type == wire.RequestKeepalive:
			ok = true
		}
		request.Reply(ok, reply)
	}
	return server.Wait()
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
