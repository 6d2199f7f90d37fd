package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// dialTimeout is how long a connection waits for a pod.
	dialTimeout = 10 * time.Second
	// againAfter is the pause before all pods are tried again.
	againAfter = 200 * time.Millisecond
)

// port is one forward at work.
type port struct {
	*Forwarder
	address   Address
	listeners []net.Listener
	service   *service
	pool      pool

	mu    sync.Mutex
	pod   string
	err   error
	since time.Time
	open  int
	// heard is when something came from a pod.
	heard time.Time
}

func (p *port) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Status{Address: p.address, Pod: p.pod, Connections: p.open, Err: p.err, Since: p.since}
}

// works says which pod connections go to, or why they do not.
func (p *port) works(pod string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := p.pod == pod && (p.err == nil) == (err == nil)
	known := same && sameReason(p.err, err)
	p.pod, p.err = pod, err
	if known {
		return
	}
	if !same {
		p.since = time.Now()
	}
	if err != nil {
		p.log.Warn("a forward does not work", "forward", p.address.Forward.String(), "error", err)
	} else {
		p.log.Info("a forward works", "forward", p.address.Forward.String(), "address", p.address.String(), "pod", pod)
	}
	p.change()
}

// sameReason says whether two errors say the same, but for numbers: each try has another port of this machine.
func sameReason(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	text := func(err error) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, err.Error())
	}
	return text(a) == text(b)
}

// run serves until ctx ends, or a listener fails.
func (p *port) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { p.probe(ctx) })
	failed := make(chan error, len(p.listeners))
	for _, l := range p.listeners {
		running.Go(func() { failed <- p.accept(ctx, l) })
	}
	var err error
	for range p.listeners {
		if e := <-failed; e != nil && err == nil {
			err = fmt.Errorf("forward %s: %w", p.address.Forward, e)
		}
		cancel()
		for _, l := range p.listeners {
			_ = l.Close()
		}
	}
	running.Wait()
	p.pool.close()
	return err
}

// accept serves the connections of one listener until that is closed, and returns when they have ended.
func (p *port) accept(ctx context.Context, l net.Listener) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil && ctx.Err() == nil && isTemporary(err):
			// Too many files are open: some will be closed.
			select {
			case <-time.After(againAfter):
			case <-ctx.Done():
			}
			continue
		case err != nil:
			return err
		}
		serving.Go(func() { p.serve(ctx, c) })
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// serve carries one connection to its end.
func (p *port) serve(ctx context.Context, local net.Conn) {
	p.count(1)
	defer p.count(-1)
	s, err := p.dial(ctx)
	if err != nil {
		p.log.Warn("a connection to a forward was reset", "forward", p.address.Forward.String(), "error", err)
		reset(local)
		return
	}
	if err := relay(ctx, local, s, p.hear); err != nil && ctx.Err() == nil {
		p.log.Debug("a connection to a forward was cut off", "forward", p.address.Forward.String(), "error", err)
	}
}

func (p *port) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += n
}

func (p *port) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
}

// dial opens a stream to a ready pod, for ten seconds at most.
func (p *port) dial(ctx context.Context) (*stream, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for {
		ready, err := p.service.await(ctx, p.address.Port)
		if err != nil {
			p.works("", err)
			return nil, err
		}
		for _, e := range p.inTurn(ready) {
			var s *stream
			if s, err = p.pool.open(ctx, e); err == nil {
				p.works(e.pod, nil)
				return s, nil
			}
			if ctx.Err() != nil {
				break
			}
		}
		select {
		case <-time.After(againAfter):
		case <-ctx.Done():
			p.works("", err)
			return nil, err
		}
	}
}

// inTurn puts the pod that worked last before the others.
func (p *port) inTurn(ready []endpoint) []endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(ready, func(e endpoint) bool { return e.pod == p.pod })
	if i <= 0 {
		return ready
	}
	return slices.Concat(ready[i:], ready[:i])
}
