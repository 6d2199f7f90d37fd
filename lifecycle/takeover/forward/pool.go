package forward

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
)

const (
	// mostConns is how many port-forwards one forward makes before connections share them.
	mostConns = 32
	// mostIdle is how many are kept that no connection needs.
	mostIdle = 2
)

// pool has the port-forwards of one forward.
type pool struct {
	dialer    *portforward.Dialer
	namespace string

	mu      sync.Mutex
	members []*member
	dialing int
	closing sync.WaitGroup
}

// member is one port-forward.
type member struct {
	conn    *portforward.Conn
	uid     types.UID // of the pod
	streams int
	// stalled is how many of them wait for somebody to take their bytes.
	stalled atomic.Int32
}

// before reports whether a stream is better off on m than on o.
func (m *member) before(o *member) bool {
	a, b := m.stalled.Load(), o.stalled.Load()
	return a < b || a == b && m.streams < o.streams
}

// stream is one of a member's. It has to be closed.
type stream struct {
	*portforward.Stream
	pool   *pool
	member *member
	once   sync.Once
}

// Close closes the stream, whose member may then serve another one.
func (s *stream) Close() error {
	err := s.Stream.Close()
	s.once.Do(func() { s.pool.put(s.member) })
	return err
}

// stalls counts what waits while f runs.
func (s *stream) stalls(f func() error) error {
	s.member.stalled.Add(1)
	defer s.member.stalled.Add(-1)
	return f()
}

// open opens a stream to an endpoint.
func (p *pool) open(ctx context.Context, e endpoint) (*stream, error) {
	m := p.take(e.uid)
	if m == nil {
		conn, err := p.dialer.Connect(ctx, p.namespace, e.pod)
		if m = p.add(conn, e.uid); err != nil {
			return nil, err
		}
	}
	s, err := m.conn.Open(ctx, e.port)
	if err != nil {
		p.put(m)
		return nil, err
	}
	return &stream{Stream: s, pool: p, member: m}, nil
}

// take returns the member that the next stream to a pod belongs to, or nil if it wants one of its own.
func (p *pool) take(uid types.UID) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *member
	for _, m := range slices.Clone(p.members) {
		switch {
		case m.conn.Err() != nil, m.uid != uid && m.streams == 0:
			p.drop(m)
		case m.uid == uid && (best == nil || m.before(best)):
			best = m
		}
	}
	if best == nil || best.streams > 0 && len(p.members)+p.dialing < mostConns {
		p.dialing++
		return nil
	}
	best.streams++
	return best
}

// add takes over what take wanted, or that it did not come about.
func (p *pool) add(conn *portforward.Conn, uid types.UID) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	if conn == nil {
		return nil
	}
	m := &member{conn: conn, uid: uid, streams: 1}
	p.members = append(p.members, m)
	return m
}

func (p *pool) put(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.streams--
	idle := 0
	for _, o := range p.members {
		if o.streams == 0 {
			idle++
		}
	}
	if m.conn.Err() != nil || m.streams == 0 && idle > mostIdle {
		p.drop(m)
	}
}

// drop closes a member. It wants the lock to be held.
func (p *pool) drop(m *member) {
	i := slices.Index(p.members, m)
	if i < 0 {
		return
	}
	p.members = slices.Delete(p.members, i, i+1)
	p.closing.Go(func() { _ = m.conn.Close() })
}

// close closes all members.
func (p *pool) close() {
	p.mu.Lock()
	for _, m := range slices.Clone(p.members) {
		p.drop(m)
	}
	p.mu.Unlock()
	p.closing.Wait()
}
