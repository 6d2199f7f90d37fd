package runtime

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portowner"
)

const (
	// patience is how long a process that has started may not listen until that is said,
	// and nobody waits for it any longer.
	patience = 10 * time.Second
	// lingering is how long a port may still be in use by what was killed.
	lingering = 2 * time.Second
)

// free says of the first of the ports that is in use that it is.
func (s Spec) free(ctx context.Context) error {
	for _, p := range s.Ports {
		if inUse(ctx, p.Local) {
			return &PortError{Port: p.Local, Owner: portowner.Of(ctx, p.Local)}
		}
	}
	return nil
}

// inUse says whether somebody listens on a port of a loopback address. Where one
// socket may listen on all addresses while another one does on one of them (macOS),
// connecting tells; where nobody may connect, listening does.
func inUse(ctx context.Context, port uint16) bool {
	if conn, err := dialLocal(ctx, port); err == nil {
		_ = conn.Close()
		return true
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			_ = l.Close()
		} else if errors.Is(err, addressInUse) {
			return true
		}
	}
	return false
}

// freed is free for ports of a process that has just ended.
func (s Spec) freed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lingering)
	defer cancel()
	for {
		err := s.free(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// listens waits until a process listens on a port, and says once when that is late.
func (p *process) listens(ctx context.Context, port uint16, late func()) bool {
	patient := time.NewTimer(patience)
	defer patient.Stop()
	for pause := time.Millisecond; ; pause = min(pause+pause/4, 100*time.Millisecond) {
		if conn, err := dialLocal(ctx, port); err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-time.After(pause):
		case <-patient.C:
			late()
		case <-p.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
