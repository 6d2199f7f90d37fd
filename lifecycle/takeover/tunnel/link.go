package tunnel

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
)

const (
	// openTimeout bounds the way from a port-forward to a stream.
	openTimeout = 10 * time.Second
	// silence is how long an agent may give no sign of life; it is asked every wire.KeepaliveInterval.
	silence = 9 * time.Second
	// permitAgain is the pause after a stream was not permitted to serve.
	permitAgain = time.Second
)

// link is the stream to one agent.
type link struct {
	peer     *peer
	stream   *relay.Stream
	protocol portforward.Protocol
	since    time.Time
	pulse    portforward.Pulse

	open     atomic.Int64
	places   chan struct{} // one for each connection to the process
	idle     chan struct{} // something is sent when open becomes 0
	draining atomic.Bool
	taking   context.Context // ends when no new connections are taken
	refuse   context.CancelFunc

	mu    sync.Mutex
	cause error
	told  []chan error // wait for the agent to be told whether to hold
	tell  chan struct{}

	// done is closed when the stream is over.
	done chan struct{}
}

// connect has a stream to the agent until that is lost, or ctx ends and its connections have.
func (p *peer) connect(ctx context.Context, restarts int32) error {
	c := &p.tunnel.config
	forward, err := p.tunnel.dialer.Connect(ctx, c.Namespace, p.name)
	if err != nil {
		return err
	}
	defer forward.Close()
	conn, err := forward.Open(ctx, c.Session.Control)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := &link{
		peer: p, protocol: forward.Protocol(), places: make(chan struct{}, relay.MaxChannels),
		idle: make(chan struct{}, 1), tell: make(chan struct{}, 1), done: make(chan struct{}),
	}
	opening, opened := context.WithTimeout(ctx, openTimeout)
	defer opened()
	stop := context.AfterFunc(opening, func() { _ = conn.Close() })
	defer stop()
	l.stream, err = relay.Dial(&pulsed{conn, &l.pulse}, relay.Keys{Own: c.Key, Known: func(key ed25519.PublicKey) error {
		return p.tunnel.pins.check(pin{p.uid, restarts}, key)
	}})
	if err != nil {
		return fmt.Errorf("open a stream to the agent in pod %s/%s: %w", c.Namespace, p.name, errors.Join(err, context.Cause(opening)))
	}

	alive, end := context.WithCancel(context.WithoutCancel(ctx))
	l.taking, l.refuse = context.WithCancel(alive)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	defer l.stream.Close()
	running.Go(func() {
		defer close(l.done)
		_ = l.stream.Wait()
	})
	running.Go(l.requests)
	running.Go(func() {
		for offer := range l.stream.Offers {
			running.Go(func() { l.serve(alive, offer) })
		}
	})
	if err := l.hello(c.Session.ID); err != nil {
		return fmt.Errorf("greet the agent in pod %s/%s: %w", c.Namespace, p.name, errors.Join(err, context.Cause(opening)))
	}
	if !stop() {
		return context.Cause(opening)
	}
	l.since = time.Now()
	running.Go(func() { l.keepAlive(alive) })
	running.Go(func() { l.listen(alive) })
	p.has(l)
	l.ask(nil)
	running.Go(func() { l.obey(alive) })

	select {
	case <-l.done:
	case <-ctx.Done():
		l.drain(c.Drain)
		return nil
	}
	// The port-forward says more than the end of what goes over it.
	return errors.Join(forward.Err(), l.why())
}

// pulsed is a connection with a pulse.
type pulsed struct {
	net.Conn
	pulse *portforward.Pulse
}

func (p *pulsed) Read(b []byte) (int, error) {
	p.pulse.Listen(time.Now())
	n, err := p.Conn.Read(b)
	if n > 0 {
		p.pulse.Heard(time.Now())
	}
	return n, err
}

func (p *pulsed) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	p.pulse.Sent(n)
	return n, err
}

func (l *link) hello(session string) error {
	payload, err := json.Marshal(wire.Hello{Version: wire.Version, Session: session})
	if err != nil {
		return err
	}
	ok, reply, err := l.stream.Ask(wire.RequestHello, payload)
	if err != nil {
		return err
	}
	var welcome wire.Welcome
	if !ok || json.Unmarshal(reply, &welcome) != nil || welcome.Version != wire.Version {
		return errors.New("it is not the agent of this session")
	}
	return nil
}

// fail ends the stream for the reason.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = err
	}
	l.mu.Unlock()
	_ = l.stream.Close()
}

func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		return errors.New("the agent has closed the stream")
	}
	return l.cause
}

// requests takes what the agent says.
func (l *link) requests() {
	for r := range l.stream.Requests {
		if r.Name == wire.RequestDraining && !l.draining.Swap(true) {
			l.peer.tunnel.change()
		}
	}
}

// keepAlive gives signs of life and asks for them.
func (l *link) keepAlive(ctx context.Context) {
	every := time.NewTicker(wire.KeepaliveInterval)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-l.done:
			return
		case <-ctx.Done():
			return
		}
		if ok, _, err := l.stream.Ask(wire.RequestKeepalive, nil); err != nil || !ok {
			l.fail(errors.New("the agent refuses a sign of life"))
			return
		}
	}
}

// listen ends the stream when nothing is heard from the agent any more.
func (l *link) listen(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case now := <-every.C:
			if l.pulse.Silent(now, silence) {
				l.fail(fmt.Errorf("%w for %s", errSilent, silence))
				return
			}
		case <-l.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// ask has the agent told whether to hold; told, if it is not nil, gets the result.
func (l *link) ask(told chan error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if told != nil {
		l.told = append(l.told, told)
	}
	select {
	case l.tell <- struct{}{}:
	default:
	}
}

// obey tells the agent what it was asked to, until the stream is over.
func (l *link) obey(ctx context.Context) {
	answer := func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, told := range l.told {
			told <- err
		}
		l.told = nil
	}
	defer answer(nil) // the next stream is told
	again := time.NewTimer(0)
	again.Stop()
	for {
		select {
		case <-l.tell:
		case <-again.C:
		case <-l.done:
			return
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		asked := slices.Clone(l.told)
		l.told = nil
		l.mu.Unlock()
		err := l.gate(ctx)
		if err != nil {
			again.Reset(permitAgain)
		}
		for _, told := range asked {
			told <- err
		}
	}
}

// gate tells the agent whether to hold, as the Tunnel says now.
func (l *link) gate(ctx context.Context) error {
	t := l.peer.tunnel
	name := wire.RequestHold
	if held, _ := t.gate(); !held {
		if t.config.Permit != nil {
			if err := t.config.Permit(ctx); err != nil {
				t.log.Warn("an agent stays on hold", "pod", l.peer.name, "error", err)
				return fmt.Errorf("have the agent in pod %s/%s serve: %w", t.config.Namespace, l.peer.name, err)
			}
		}
		name = wire.RequestServe
	}
	ok, _, err := l.stream.Ask(name, nil)
	if err == nil && !ok {
		err = errors.New("it refuses")
	}
	if err != nil {
		return fmt.Errorf("tell %s to the agent in pod %s/%s: %w", name, t.config.Namespace, l.peer.name, err)
	}
	return nil
}

// drain lets the connections end, for so long.
func (l *link) drain(patience time.Duration) {
	l.refuse()
	select {
	case <-l.peer.gone:
		return
	default:
	}
	late := time.NewTimer(max(0, patience))
	defer late.Stop()
	for l.open.Load() > 0 {
		select {
		case <-l.idle:
		case <-late.C:
			return
		case <-l.peer.gone:
			return
		case <-l.done:
			return
		}
	}
}
