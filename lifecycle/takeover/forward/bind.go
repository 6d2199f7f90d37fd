package forward

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portowner"
)

// ErrInUse is matched by the error of New when another process has a port that was asked for.
var ErrInUse = errors.New("the port is in use")

const (
	firstPort, ports = 20000, 10000
	// candidates is how many ports follow from a Service's name.
	candidates = 16
	// wildcardTimeout bounds the question whether somebody answers on a port, which loopback answers at once.
	wildcardTimeout = time.Second
)

// bind listens for a forward on the port that it asks for, or on one that follows from its owner's name and its own.
func bind(owner string, f Forward) ([]net.Listener, uint16, error) {
	if f.Local != 0 {
		listeners, err := listen(f.Local)
		if err != nil {
			return nil, 0, fmt.Errorf("forward %s: listen on loopback port %d: %w", f, f.Local, err)
		}
		return listeners, f.Local, nil
	}
	for _, p := range stable(owner, f) {
		listeners, err := listen(p)
		switch {
		case err == nil:
			return listeners, p, nil
		case !errors.Is(err, ErrInUse):
			return nil, 0, fmt.Errorf("forward %s: listen on loopback port %d: %w", f, p, err)
		}
	}
	return nil, 0, fmt.Errorf("forward %s: %w: all %d loopback ports that follow from its name; give it a local port", f, ErrInUse, candidates)
}

// stable are the ports that a forward without one has, in order.
func stable(owner string, f Forward) []uint16 {
	h := fnv.New32a()
	h.Write([]byte(owner + "\x00" + f.String()))
	const step = 7919 // a prime, so that neighbours do not meet again
	all := make([]uint16, candidates)
	for i := range all {
		all[i] = uint16(firstPort + (uint64(h.Sum32())+uint64(i)*step)%ports)
	}
	return all
}

// listen listens on both loopback addresses.
func listen(port uint16) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := listenOn(net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			listeners = append(listeners, l)
			continue
		}
		if host == "::1" && !errors.Is(err, ErrInUse) {
			continue // there is no IPv6
		}
		for _, l := range listeners {
			_ = l.Close()
		}
		if errors.Is(err, ErrInUse) {
			if owner := portowner.Of(context.Background(), port); owner != "" {
				err = fmt.Errorf("%w by %s: end it, or forward to another port", ErrInUse, owner)
			}
		}
		return nil, err
	}
	return listeners, nil
}

func listenOn(address string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wildcardTimeout)
	defer cancel()
	// Some systems let one process have a port on all addresses and another one on a single one.
	if c, err := new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
		_ = c.Close()
		return nil, ErrInUse
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, ErrInUse
	}
	return l, err
}
