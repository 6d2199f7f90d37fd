package tunnel

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// dialShare is the part of the time that callers wait for which Config.Dial may take, so that the agent hears of a process
// that does not answer while they do, and can answer for it.
const dialShare = 4

// serve carries one connection to its end.
func (l *link) serve(ctx context.Context, channel ssh.NewChannel) {
	l.open.Add(1)
	defer func() {
		if l.open.Add(-1) == 0 {
			select {
			case l.idle <- struct{}{}:
			default:
			}
		}
	}()
	t := l.peer.tunnel
	port, err := l.wanted(channel)
	if err != nil {
		_ = channel.Reject(l.reason(), "the workstation does not take it")
		return
	}
	dialing, cancel := context.WithTimeout(l.taking, time.Duration(t.config.Session.Away)/dialShare)
	defer cancel()
	conn, err := t.config.Dial(dialing, port)
	if err != nil {
		t.log.Debug("the local process does not take a connection", "pod", l.peer.name, "port", port, "error", err)
		_ = channel.Reject(l.reason(), "the local process does not take it")
		return
	}
	// It ends with the stream, also where the process takes no more bytes.
	stop := context.AfterFunc(ctx, func() { relay.Reset(conn) })
	defer stop()
	accepted, requests, err := channel.Accept()
	if err != nil {
		relay.Reset(conn)
		return
	}
	result, err := t.relay.Join(relay.Pair{Conn: conn, Channel: accepted, Requests: requests})
	t.log.Debug("a connection has ended", "pod", l.peer.name, "port", port, "received", result.Received, "sent", result.Sent, "error", err)
}

// reason is why a connection is not taken: the process does not take it, or the tunnel ends, which says nothing of it.
func (l *link) reason() ssh.RejectionReason {
	if l.taking.Err() != nil {
		return ssh.ResourceShortage
	}
	return ssh.ConnectionFailed
}

// wanted returns the port of a connection, once it may be served.
func (l *link) wanted(channel ssh.NewChannel) (uint16, error) {
	var c wire.Connection
	if channel.ChannelType() != wire.ChannelConnection {
		return 0, errors.New("it is no connection")
	}
	if err := ssh.Unmarshal(channel.ExtraData(), &c); err != nil {
		return 0, err
	}
	known := false
	for _, p := range l.peer.tunnel.config.Session.Ports {
		known = known || uint32(p.Number) == c.Port
	}
	if !known {
		return 0, errors.New("it is for no port of the session")
	}
	for {
		held, serving := l.peer.tunnel.gate()
		if !held {
			break
		}
		select {
		case <-serving:
		case <-l.taking.Done():
			return 0, context.Cause(l.taking)
		}
	}
	return uint16(c.Port), context.Cause(l.taking)
}
