package tunnel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// dialShare is the part of the time that callers wait for which Config.Dial may take, so that the agent hears of a process
// that does not answer while they do, and can answer for it.
const dialShare = 4

// serve carries one connection to its end.
func (l *link) serve(ctx context.Context, offer *relay.Offer) {
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
	port := offer.Connection.Port
	if err := l.wanted(port); err != nil {
		_ = offer.Reject(l.reason())
		return
	}
	dialing, cancel := context.WithTimeout(l.taking, time.Duration(t.config.Session.Away)/dialShare)
	defer cancel()
	// A channel's number is free when its caller has gone, and then the process may still take what that sent.
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
	case <-dialing.Done():
		t.log.Debug("the local process has too many connections that do not end", "pod", l.peer.name, "port", port)
		_ = offer.Reject(l.reason())
		return
	}
	conn, err := t.config.Dial(dialing, port)
	if err != nil {
		t.log.Debug("the local process does not take a connection", "pod", l.peer.name, "port", port, "error", err)
		_ = offer.Reject(l.reason())
		return
	}
	// It ends with the stream, also where the process takes no more bytes.
	stop := context.AfterFunc(ctx, func() { relay.Reset(conn) })
	defer stop()
	channel, err := offer.Accept()
	if err != nil {
		relay.Reset(conn)
		return
	}
	result, err := t.relay.Join(relay.Pair{Conn: bulk.Direct(conn), Channel: channel})
	t.log.Debug("a connection has ended", "pod", l.peer.name, "port", port, "received", result.Received, "sent", result.Sent, "error", err)
}

// reason is why a connection is not taken.
func (l *link) reason() wire.Reason {
	if l.taking.Err() != nil {
		return wire.ReasonEnding
	}
	return wire.ReasonProcess
}

// wanted waits until a connection to the port may be served.
func (l *link) wanted(port uint16) error {
	if !slices.ContainsFunc(l.peer.tunnel.config.Session.Ports, func(p wire.Port) bool { return p.Number == port }) {
		return errors.New("it is for no port of the session")
	}
	for {
		held, serving := l.peer.tunnel.gate()
		if !held {
			return context.Cause(l.taking)
		}
		select {
		case <-serving:
		case <-l.taking.Done():
			return context.Cause(l.taking)
		}
	}
}
