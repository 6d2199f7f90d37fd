package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// reserve is what is left of the grace period when the last connections are cut.
	reserve = 2 * time.Second
	// idleCheck is how often a leaving agent looks for connections that became idle.
	idleCheck = 100 * time.Millisecond
)

// Config is what an agent runs with.
type Config struct {
	// Session is the document of its image.
	Session wire.Session
	// Pod is the name that the workstation is told, usually the host's name.
	Pod string
	// Log is told of what happens to the stream, never of a connection's content.
	// The default discards.
	Log *slog.Logger
	// Listen opens a port: ":8080" or "127.0.0.1:47811". The default is TCP.
	Listen func(ctx context.Context, address string) (net.Listener, error)
}

// Run serves until ctx ends, which stands for SIGTERM, and drains then. It returns
// nil after a drain, and an error, with nothing left open, if it cannot begin: the
// session is not valid, or a port cannot be listened on.
func Run(ctx context.Context, c Config) error {
	if _, err := c.Session.Encode(); err != nil {
		return err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Listen == nil {
		c.Listen = func(ctx context.Context, address string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", address)
		}
	}
	gate := newGate(time.Duration(c.Session.Away))
	control, err := newControl(c.Session, wire.Welcome{
		Version: wire.Version, Pod: c.Pod, Started: time.Now().UTC().Truncate(time.Second),
	}, gate, c.Log)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, c)
	if err != nil {
		return err
	}
	callers := newCallers(c.Session, gate, c.Log)
	// What is served ends with hard and not with ctx.
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var streams, accepting sync.WaitGroup
	streams.Go(func() { control.serve(hard, listeners[0]) })
	for i, port := range c.Session.Ports {
		accepting.Go(func() { callers.serve(hard, listeners[i+1], port) })
	}
	c.Log.Info("the agent serves", "workload", c.Session.Workload, "session", c.Session.ID, "ports", len(c.Session.Ports))

	<-ctx.Done()
	c.Log.Info("the agent leaves")
	end := time.AfterFunc(max(0, time.Duration(c.Session.Grace)-reserve), cut)
	defer end.Stop()
	callers.leave()
	if s := gate.current(); s != nil {
		s.Tell(wire.RequestDraining)
	}
	pause(hard, time.Duration(c.Session.Drain))
	for _, l := range listeners[1:] {
		l.Close()
	}
	accepting.Wait()
	// Nobody can be served here any more who still waits, and elsewhere he can.
	callers.release()
	drained := make(chan struct{})
	go func() {
		callers.wait()
		close(drained)
	}()
	for done := false; !done; {
		callers.closeIdle()
		done = ended(drained, idleCheck)
	}
	listeners[0].Close()
	cut()
	streams.Wait()
	c.Log.Info("the agent has left")
	return nil
}

// listen opens the stream's port and then the container's, or none.
func listen(ctx context.Context, c Config) ([]net.Listener, error) {
	var listeners []net.Listener
	addresses := []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(int(c.Session.Control)))}
	for _, p := range c.Session.Ports {
		addresses = append(addresses, ":"+strconv.Itoa(int(p.Number)))
	}
	var problems []error
	for _, address := range addresses {
		l, err := c.Listen(ctx, address)
		if err != nil {
			problems = append(problems, fmt.Errorf("listen on %s in the place of %s: %w", address, c.Session.Workload, err))
			continue
		}
		listeners = append(listeners, l)
	}
	if len(problems) > 0 {
		for _, l := range listeners {
			l.Close()
		}
		return nil, errors.Join(problems...)
	}
	return listeners, nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ended says whether done was closed within d.
func ended(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
