package agent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"
)

// acceptPause is how long an accept that failed is left alone, such as for want of
// file descriptors.
const acceptPause = 100 * time.Millisecond

// accept calls f with each connection, until listener is closed.
func accept(ctx context.Context, listener net.Listener, log *slog.Logger, f func(net.Conn)) {
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			f(conn)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		log.Warn("a connection could not be accepted", "address", listener.Addr().String(), "reason", err.Error())
		pause := time.NewTimer(acceptPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}
