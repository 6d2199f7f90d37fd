package portforward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// pingEvery is how often the far end is asked whether it is there, and silence how long it may not answer.
	pingEvery = 3 * time.Second
	silence   = 8 * time.Second
)

// Conn is a connection to one pod. It is safe for concurrent use.
type Conn struct {
	namespace, pod string
	protocol       Protocol
	wire           *Wire
	frames         *frames

	mu      sync.Mutex
	err     error
	streams map[*Stream]struct{}
	next    int

	done    chan struct{} // closed when the connection is lost or closed
	running sync.WaitGroup
}

func newConn(raw net.Conn, protocol Protocol, namespace, pod string) (*Conn, error) {
	c := &Conn{
		namespace: namespace, pod: pod, protocol: protocol,
		wire:    NewWire(raw),
		streams: map[*Stream]struct{}{},
		done:    make(chan struct{}),
	}
	var err error
	if c.frames, err = newFrames(c.wire); err != nil {
		_ = c.wire.Abort()
		return nil, c.error(0, err)
	}
	c.running.Go(c.serve)
	c.running.Go(c.ping)
	c.running.Go(c.watch)
	return c, nil
}

// Protocol says how the connection came about.
func (c *Conn) Protocol() Protocol { return c.protocol }

// Done is closed when the connection is lost or closed.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection is lost, as an *[Error]; nil until then. After Close it is net.ErrClosed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends all streams, sends what was written, and closes the connection, within a few seconds.
func (c *Conn) Close() error {
	// Not even the frames that end the streams can be sent where the far end takes nothing.
	late := time.AfterFunc(flushTimeout, func() { _ = c.wire.Abort() })
	defer late.Stop()
	c.end(net.ErrClosed)
	err := c.wire.Close()
	c.running.Wait()
	return err
}

// Open opens a stream to a port on the pod's loopback, for ten seconds at most. That nothing listens there is seen when the stream is
// read. When the time is over or ctx ends, the connection is lost, too: what happened to its frames is not known.
// It returns an *[Error].
func (c *Conn) Open(ctx context.Context, port uint16) (*Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	// The frames of a stalled connection cannot be sent, nor are they answered.
	stop := context.AfterFunc(ctx, func() {
		c.end(fmt.Errorf("it did not open a stream: %w", context.Cause(ctx)))
	})
	defer stop()
	c.mu.Lock()
	err, id := c.err, c.next
	c.next++
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	// Both are asked for before either is waited for.
	var pair [2]*flow
	for i, kind := range []string{corev1.StreamTypeError, corev1.StreamTypeData} {
		headers := http.Header{}
		headers.Set(corev1.StreamType, kind)
		headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
		headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(id))
		if pair[i], err = c.frames.open(headers); err != nil {
			return nil, c.lost(port, err)
		}
	}
	for _, w := range pair {
		if err := w.await(); err != nil {
			return nil, c.lost(port, err)
		}
	}
	// Nothing is written to the stream of errors.
	if err := c.frames.finish(pair[0]); err != nil {
		return nil, c.lost(port, err)
	}
	s := newStream(c, port, pair[0], pair[1])
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		_ = s.Close()
		return nil, c.Err()
	}
	c.streams[s] = struct{}{}
	c.mu.Unlock()
	return s, nil
}

func (c *Conn) serve() {
	c.frames.serve()
	c.end(ErrLost)
}

func (c *Conn) ping() {
	every := time.NewTicker(pingEvery)
	defer every.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-every.C:
		}
		// That there is no answer is for watch to notice.
		if err := c.frames.ping(); err != nil {
			c.end(ErrLost)
			return
		}
	}
}

func (c *Conn) watch() {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-c.done:
			return
		case now := <-every.C:
			if c.wire.Pulse.Silent(now, silence) {
				c.end(ErrSilent)
				return
			}
		}
	}
}

// end ends the connection for the reason, if it has not ended before.
func (c *Conn) end(reason error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	closed := errors.Is(reason, net.ErrClosed)
	if c.err = reason; !closed {
		c.err = c.error(0, reason)
	}
	streams := c.streams
	c.streams = nil
	close(c.done)
	c.mu.Unlock()
	if closed {
		for s := range streams {
			s.reset()
		}
	}
	// Frames of a stream that nobody reads, or reads yet, would be waited for.
	c.frames.stop()
	if !closed {
		_ = c.wire.Abort()
	}
}

// lost ends the connection because of what happened to a stream, and returns that with its port.
func (c *Conn) lost(port uint16, err error) error {
	c.end(err)
	var first *Error
	if errors.As(c.Err(), &first) {
		err = first.Err
	}
	return c.error(port, err)
}

func (c *Conn) error(port uint16, err error) error {
	return &Error{Namespace: c.namespace, Pod: c.pod, Port: port, Err: err}
}

func (c *Conn) forget(s *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, s)
}
